// A model server with an answer for each question, for pictures: the texts of the stand-in are not for readers.

import http from 'node:http';

// `answers` maps the text of a user message to its steps: {say} or {say, call: {name, arguments}}; each further step follows a result.
export async function startScriptedModel(answers, {msPerWord = 60} = {}) {
  const server = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const {messages} = JSON.parse(Buffer.concat(parts));
    const asked = messages.findLastIndex((message) => message.role === 'user');
    const step = messages.slice(asked).filter((message) => message.role === 'tool').length;
    const {say, call, fast} = (answers[messages[asked].content] ?? answers.otherwise)[step];
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    const write = (delta, finish_reason = null) => response.write('data: ' + JSON.stringify({choices: [{index: 0, delta, finish_reason}]}) + '\n\n');
    const words = say.split(/(?<= )/);
    const rest = () => {
      if (call) write({tool_calls: [{index: 0, id: 'call-' + step + '-' + Date.now(), type: 'function', function: {name: call.name, arguments: JSON.stringify(call.arguments)}}]});
      write({}, call ? 'tool_calls' : 'stop');
      response.end('data: [DONE]\n\n');
    };
    if (fast) {
      write({content: say});
      rest();
      return;
    }
    const timer = setInterval(() => (words.length ? write({content: words.shift()}) : (clearInterval(timer), rest())), msPerWord);
    response.on('close', () => clearInterval(timer));
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  return {
    url: 'http://127.0.0.1:' + server.address().port + '/v1',
    close: () => { server.closeAllConnections(); server.close(); },
  };
}
