// Starts a program of the build, and ends it.

import {spawn} from 'node:child_process';
import {createInterface} from 'node:readline';

const running = new Set();
process.on('exit', () => { for (const child of running) child.kill('SIGKILL'); });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

// Resolves when the program prints a line that matches `ready`. `said` has its lines, of both outputs.
export function start(program, args, ready) {
  const child = spawn(program, args, {stdio: ['ignore', 'pipe', 'pipe']});
  running.add(child);
  const said = [];
  const ended = new Promise((done) => child.on('close', (code, signal) => {
    running.delete(child);
    done(code ?? signal);
  }));
  const end = (signal = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  return new Promise((done, fail) => {
    child.on('error', fail);
    ended.then((code) => fail(new Error(program + ' ended with ' + code + ':\n' + said.join('\n'))));
    for (const output of [child.stdout, child.stderr]) {
      createInterface({input: output}).on('line', (line) => {
        if (said.push(line) > 200) said.shift();
        const match = ready.exec(line);
        if (match) done({match, said, end, ended});
      });
    }
  });
}
