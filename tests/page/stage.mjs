// A moment in the life of a tree: streaming text, tools, questions, a stopped branch, receipts and tasks. For pictures, and for axe.

const conversation = [
  'Which routes break the latency budget, and why?\n/say Two are slow. The loop returns the first match, so `/v1/*` hides `/v1/stream`. A sort by the length of the prefix repairs both.',
  'Write the patch.\n/say I have to know one thing first.\n/call ask_human {"question":"May equal prefixes change their order?"}\n/then\n/say Then I use a stable sort.',
];
const endless = 'Now run the tests, and say which of them prove it.';

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

  async play(api) {
    const ask = (question, choices) => '/call ask_human ' + JSON.stringify(choices ? {question, choices} : {question});
    for (const text of conversation) {
      await api.send('router', text);
      if (text.includes('ask_human')) await answerQuestion(api, 'approve', {scope: 'once'}).then(() => answerQuestion(api, 'answer', {text: 'No, keep the order of the registration.'}));
      await api.untilStatus('router', 'idle');
    }
    for (const id of ['parser-plan', 'parser-search', 'storage', 'router-plan']) await api.send(id, 'Read the next trace and compare it with the budget.');
    await api.untilStatus('parser-search', 'waiting_llm');
    await api.verb('parser', 'stop', {reason: 'wrong branch'});
    await api.remove('answers');
    await api.send('triage', ask('Which snapshot is the reference?', ['2026-11-24 nightly', '2026-11-25 morning']));
    await answerQuestion(api, 'approve', {scope: 'once'});
    await api.send('storage-read', ask('May I read the snapshot of last night?'));
    await api.until('two questions', () => api.get('api/questions'), ({questions}) => questions.length === 2);
    await api.verb('scheduler', 'pause', {reason: 'deploy window'});
    await api.post('tasks', {agentId: 'inbox', prompt: 'Summarise the inbox.'});
    for (const text of ['And the nightly build?', 'Then the report.']) await api.send('router-plan', text);
    await api.send('router', endless);
    await api.untilStatus('router', 'waiting_llm');
  },
};
