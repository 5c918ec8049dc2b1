// A moment in the life of a tree: streaming text, tools, questions, a stopped branch, receipts and tasks. For pictures, and for axe.

const routes = 'Which routes break the latency budget, and why?';
const patch = 'Write the patch.';
const tests = 'Now run the tests, and say which of them prove it.';
const trace = 'Read the next trace and compare it with the budget.';
const ask = (question, choices) => ({name: 'ask_human', arguments: choices ? {question, choices} : {question}});
const asks = {
  order: ask('May equal prefixes change their order?'),
  snapshot: ask('Which snapshot is the reference?', ['2026-11-24 nightly', '2026-11-25 morning']),
  read: ask('May I read the snapshot of last night?'),
};
const slow = 'The 99th percentile of the endpoint is 840 ms, and the budget is 900 ms. A retry would not fit. The second half of the trace shows ' +
  'where the time goes: the handler waits for the lock of the table, and the lock is held during the search. ';

// What the model of the pictures answers.
export const script = {
  [routes]: [{fast: true, say: 'Two routes are slow. The loop returns the first match, so `/v1/*` hides `/v1/stream`:\n\n```cpp\n' +
    'for (const Route& route : routes_)\n  if (route.matches(path)) return route;\n```\n\nA sort by the length of the prefix repairs both.'}],
  [patch]: [{fast: true, say: 'I have to know one thing first.', call: asks.order}, {fast: true, say: 'Then I use a stable sort. The table is sorted once, when it is built.'}],
  [tests]: [{say: 'All 41 cases of router_test pass. Two of them prove the order: "equal prefixes keep their order" fails without the stable sort, ' +
    'and "the longest prefix wins" fails without any sort. ' + slow.repeat(4)}],
  'Find the reference.': [{fast: true, say: 'Two snapshots differ.', call: asks.snapshot}, {say: slow}],
  'Read the snapshot.': [{fast: true, say: 'I need access.', call: asks.read}, {say: slow}],
  otherwise: [{say: slow.repeat(8)}],
};

// The same for the stand-in: the message dictates the answer.
const dictated = (text) => {
  const steps = script[text];
  if (!steps || !steps[0].fast) return text;
  const lines = steps.map(({say, call}) => '/say ' + say.replaceAll('\n', ' ') + (call ? '\n/call ask_human ' + JSON.stringify(call.arguments) : ''));
  return text + '\n' + lines.join('\n/then\n');
};

const agents = ['release-manager', 'release-manager/router', 'router/router-plan', 'router/router-search', 'router/router-read', 'release-manager/parser',
  'parser/parser-plan', 'parser/parser-search', 'parser/parser-read', 'release-manager/scheduler', 'scheduler/scheduler-plan', 'release-manager/storage',
  'storage/storage-read', 'storage/storage-plan', 'triage', 'triage/inbox', 'triage/answers'];

async function answerQuestion(api, how, body) {
  const kind = how === 'approve' ? 'approval' : 'question';
  const {questions} = await api.until('an ' + kind, () => api.get('api/questions'), (answer) => answer.questions.length === 1 && answer.questions[0].kind === kind);
  await api.post('api/questions/' + questions[0].id + '/' + how, body);
}

export const stage = {
  server: {agents, model: {rate: 15}, options: ['--approve', 'ask_human', '--system-prompt', 'You keep the order of the routes, and you explain each change in one sentence.']},

  // `plain`: the model knows the script.
  async play(api, {plain = false} = {}) {
    const send = (id, text) => api.send(id, plain ? text : dictated(text));
    await send('router', routes);
    await api.untilStatus('router', 'idle');
    await send('router', patch);
    await answerQuestion(api, 'approve', {scope: 'once'});
    await answerQuestion(api, 'answer', {text: 'No, keep the order of the registration.'});
    await api.untilStatus('router', 'idle');
    for (const id of ['parser-plan', 'parser-search', 'storage', 'router-plan']) await send(id, trace);
    await api.untilStatus('parser-search', 'waiting_llm');
    await api.verb('parser', 'stop', {reason: 'wrong branch'});
    await api.remove('answers');
    await send('triage', 'Find the reference.');
    await answerQuestion(api, 'approve', {scope: 'once'});
    await send('storage-read', 'Read the snapshot.');
    await api.until('two questions', () => api.get('api/questions'), ({questions}) => questions.length === 2);
    await api.verb('scheduler', 'pause', {reason: 'deploy window'});
    await api.post('tasks', {agentId: 'inbox', prompt: 'Summarise the inbox.'});
    for (const text of ['And the nightly build?', 'Then the report.']) await send('router-plan', text);
    await send('router', tests);
    await api.untilStatus('router', 'waiting_llm');
  },
};
