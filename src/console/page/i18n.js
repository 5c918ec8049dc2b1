// All texts of the page, English and Chinese, and the choice between them. {name} in a text is replaced by a value.

import {notify} from './bus.js';
import {words} from './words.js';

const texts = {
  // status of an agent
  idle: ['Idle', '空闲'],
  waiting_llm: ['Waiting for the model', '等待大模型响应'],
  processing: ['Processing', '处理中'],
  stopping: ['Stopping', '正在停止'],
  stopped: ['Stopped', '已停止'],
  terminating: ['Deleting', '正在删除'],
  paused: ['Paused', '已暂停'],
  queueHeld: ['Queue held', '队列已保留'],
  pendingStep: ['Stops after this step', '本步骤后停止'],
  pendingTurn: ['Stops after this turn', '本轮后停止'],
  heldShort: ['held', '保留'],
  pendingStepShort: ['stop: step', '步骤后停'],
  pendingTurnShort: ['stop: turn', '本轮后停'],
  queueLength: ['{n} queued', '队列中 {n} 条'],
  roleSystem: ['protected', '受保护'],
  roleUser: ['a person', '人'],
  // abort
  abortTitle: ['Stop this call', '停止调用'],
  abortDone: ['The model call was stopped', '已停止 LLM 调用'],
  abortNothing: ['No model call is in progress', '当前没有进行中的 LLM 调用'],
  abortFailed: ['The call could not be stopped: {message}', '停止调用失败: {message}'],
  // verbs
  interrupt: ['Interrupt', '中断'],
  interruptDone: ['The turn was interrupted', '已中断当前轮次'],
  interruptNothing: ['No turn is running', '当前没有运行中的轮次'],
  stop: ['Stop', '停止'],
  stopReach: ['stops {n} agents', '将停止 {n} 个智能体'],
  stopReach1: ['stops 1 agent', '将停止 1 个智能体'],
  stopDone: ['Stopped {name}', '已停止 {name}'],
  stopDoneAbandoned: ['Stopped {name}; given up, may still run: {calls}', '已停止 {name}；已放弃、可能仍在运行：{calls}'],
  notPersisted: ['{name}: in force, but not in the store: {message}', '{name}：已生效，但未写入存储：{message}'],
  stopNothing: ['{name} was stopped already', '{name} 已处于停止状态'],
  stopDeferred: ['{name} will stop later', '{name} 将稍后停止'],
  whenLabel: ['When to stop', '停止时机'],
  whenNow: ['now', '立即'],
  whenStep: ['after this step', '本步骤后'],
  whenTurn: ['after this turn', '本轮后'],
  pause: ['Pause', '暂停'],
  pauseReach: ['pauses {n} agents', '将暂停 {n} 个智能体'],
  pauseReach1: ['pauses 1 agent', '将暂停 1 个智能体'],
  pauseDone: ['Paused {name}', '已暂停 {name}'],
  unpause: ['Unpause', '取消暂停'],
  unpauseDone: ['Unpaused {name}', '已取消暂停 {name}'],
  resume: ['Resume', '恢复'],
  resumeDone: ['Resumed {name}', '已恢复 {name}'],
  release: ['Release queue', '释放队列'],
  releaseDone: ['The queue of {name} was released', '已释放 {name} 的队列'],
  remove: ['Delete', '删除'],
  removeReach: ['deletes {n} agents', '将删除 {n} 个智能体'],
  removeReach1: ['deletes 1 agent', '将删除 1 个智能体'],
  removeBody: ['{name} and everything below it is deleted: {n} agents. A delete cannot be taken back.',
    '将删除 {name} 及其下属，共 {n} 个智能体。删除后无法恢复。'],
  removeBody1: ['1 agent is deleted: {name}. A delete cannot be taken back.', '将删除 1 个智能体：{name}。删除后无法恢复。'],
  removeConfirm: ['Delete {n}', '删除 {n} 个'],
  removeDone: ['Deleted {name}', '已删除 {name}'],
  removeDoneAbandoned: ['Deleted {name}; given up, may still run: {calls}', '已删除 {name}；已放弃、可能仍在运行：{calls}'],
  whatFailed: ['{what}: {message}', '{what}：{message}'],
  urgent: ['urgent', '紧急'],
  failed: ['{what} failed for {name}: {message}', '{name} {what}失败: {message}'],
  noEffect: ['No effect on {name}: {message}', '对 {name} 无效: {message}'],
  networkError: ['the server cannot be reached', '无法连接服务器'],
  stopAll: ['Stop all', '全部停止'],
  stopAllBody: ['All {n} agents are stopped.', '将停止全部 {n} 个智能体。'],
  pauseAll: ['Pause all', '全部暂停'],
  unpauseAll: ['Unpause all', '取消全部暂停'],
  resumeAll: ['Resume all', '全部恢复'],
  allDone: ['{what}: done', '{what}:完成'],
  wholeTree: ['All agents', '全部智能体'],
  treeMenu: ['Whole tree', '整棵树'],
  // tree
  agents: ['Agents', '智能体'],
  search: ['Search agents', '搜索智能体'],
  searchHint: ['Search  ( / )', '搜索  ( / )'],
  stateFilter: ['Filter by state', '按状态筛选'],
  allStates: ['All states', '所有状态'],
  active: ['Active', '活动中'],
  expandAll: ['Expand all', '全部展开'],
  collapseAll: ['Collapse all', '全部折叠'],
  noAgents: ['No agents yet.', '还没有智能体。'],
  noMatch: ['No agent matches.', '没有匹配的智能体。'],
  loading: ['Loading…', '加载中…'],
  matches: ['{n} of {total}', '{n} / {total}'],
  newAgent: ['New agent', '新建智能体'],
  // conversation
  conversation: ['Conversation', '对话'],
  chooseAgent: ['Choose an agent to see its conversation.', '选择一个智能体以查看对话。'],
  chooseHint: ['Arrow keys move in the tree, Enter opens, / searches, Esc interrupts.', '方向键移动，Enter 打开，/ 搜索，Esc 中断。'],
  noMessages: ['No messages yet.', '还没有消息。'],
  loadEarlier: ['Load earlier messages', '加载更早的消息'],
  earlier: ['{n} earlier', '更早的 {n} 条'],
  role_user: ['User', '用户'],
  role_assistant: ['Agent', '智能体'],
  role_system: ['System', '系统'],
  role_tool: ['Tool', '工具'],
  streaming: ['answering', '正在回答'],
  reasoning: ['Reasoning', '思考过程'],
  summary: ['Summary of earlier messages', '早期消息摘要'],
  steeredMark: ['steered', '引导'],
  partial: ['partial answer', '部分回答'],
  liveCut: ['The beginning of this answer is not shown.', '此回答的开头未显示。'],
  mark_aborted: ['aborted', '已停止调用'],
  mark_stopped: ['stopped', '已停止'],
  mark_failed: ['failed', '失败'],
  mark_interrupted: ['interrupted', '已中断'],
  mark_steered: ['redirected', '被引导打断'],
  mark_truncated: ['shortened', '已截短'],
  part_image: ['image', '图片'],
  part_document: ['document', '文档'],
  part_audio: ['sound', '音频'],
  partBytes: ['{n} bytes', '{n} 字节'],
  partAddress: ['an address, not loaded', '地址（未加载）'],
  arguments: ['Arguments', '参数'],
  outcome: ['Outcome', '结果'],
  running: ['running', '运行中'],
  call_not_started: ['not started', '未开始'],
  call_completed: ['completed', '已完成'],
  call_failed: ['failed', '失败'],
  call_interrupted: ['interrupted', '已中断'],
  call_abandoned: ['abandoned', '已放弃'],
  call_refused: ['refused', '已拒绝'],
  call_ended: ['ended', '已结束'],
  why_not_started: ['It did not begin and had no effect.', '该调用未开始，没有产生任何效果。'],
  why_interrupted: ['It had begun when it was ended. Its effect is unknown.', '该调用在开始后被中断，效果未知。'],
  why_abandoned: ['It had begun and did not end in time. It may still run.', '该调用已开始，但未能及时结束，可能仍在运行。'],
  why_refused: ['It was not allowed and did not begin.', '该调用未获允许，没有开始。'],
  forModel: ['What the model reads', '模型读到的内容'],
  modelCall: ['model call', '模型调用'],
  stillRuns: ['its tool still runs', '工具仍在运行'],
  cancelCall: ['Cancel this call', '取消此调用'],
  cancelled: ['The call was cancelled', '已取消调用'],
  newMessages: ['Newest', '最新'],
  questionsWait: ['{n} waiting for your answer', '{n} 个问题等待回答'],
  // composer
  message: ['Message', '消息'],
  messageHint: ['Message  (Enter sends, Shift+Enter: new line)', '消息 (Enter 发送，Shift+Enter 换行)'],
  steerHint: ['Steer the running turn  (Esc interrupts)', '引导当前轮次 (Esc 中断)'],
  send: ['Send', '发送'],
  steer: ['Steer', '引导'],
  steerWhen: ['When the message takes effect', '消息生效时机'],
  steerNow: ['now', '立即'],
  steerNext: ['next step', '下一步骤'],
  steerQueue: ['queue', '排队'],
  stoppedHint: ['The agent is stopped. Resume it to send.', '智能体已停止，恢复后才能发送。'],
  // activity
  activity: ['Activity', '活动'],
  questions: ['Questions', '问题'],
  timeline: ['Timeline', '时间线'],
  receipts: ['Receipts', '回执'],
  usage: ['Usage', '用量'],
  tasks: ['Tasks', '任务'],
  noQuestions: ['No question is open.', '没有待回答的问题。'],
  answer: ['Answer', '回答'],
  yourAnswer: ['Your answer', '你的回答'],
  approve: ['Approve', '批准'],
  approval: ['Approval', '审批'],
  question: ['Question', '问题'],
  decline: ['Decline', '拒绝'],
  scope: ['Scope of the approval', '批准范围'],
  scope_once: ['once', '仅此一次'],
  scope_agent: ['this agent', '此智能体'],
  scope_subtree: ['this agent and those below it', '此智能体及其下属'],
  answered: ['Answered', '已回答'],
  approved: ['Approved', '已批准'],
  declined: ['Declined', '已拒绝'],
  onlySelected: ['Selected agent only', '仅所选智能体'],
  noEvents: ['No events yet.', '还没有事件。'],
  noReceipts: ['Stops and deletes appear here.', '停止与删除会显示在这里。'],
  verb_stop: ['stop', '停止'],
  verb_terminate: ['delete', '删除'],
  gateClosed: ['gate closed', '闸门关闭'],
  settled: ['settled', '已结清'],
  receiptBar: ['Gate closed after {closed}, settled after {settled}', '{closed} 后闸门关闭，{settled} 后结清'],
  logScale: ['logarithmic scale', '对数刻度'],
  by: ['by {who}', '由 {who}'],
  agentsCount: ['{n} agents', '{n} 个智能体'],
  agentsCount1: ['1 agent', '1 个智能体'],
  selectedAgent: ['Selected agent', '所选智能体'],
  promptTokens: ['Prompt tokens', '提示词元'],
  completionTokens: ['Completion tokens', '生成词元'],
  cachedTokens: ['Cached tokens', '缓存词元'],
  totalTokens: ['Total tokens', '词元总数'],
  turns: ['Turns', '轮次'],
  cost: ['Cost', '费用'],
  tokens: ['tokens', '词元'],
  // tasks and new agents
  prompt: ['Prompt', '提示'],
  taskAgent: ['Agent (empty: a new one)', '智能体（留空则新建）'],
  runTask: ['Run task', '运行任务'],
  noTasks: ['No tasks yet.', '还没有任务。'],
  terminate: ['Terminate', '终止'],
  terminated: ['The task was terminated', '任务已终止'],
  task_pending: ['pending', '等待中'],
  task_running: ['running', '运行中'],
  task_completed: ['completed', '已完成'],
  task_terminated: ['terminated', '已终止'],
  task_failed: ['failed', '失败'],
  agentId: ['Id (empty: chosen by the server)', '编号（留空由服务器生成）'],
  parentId: ['Parent (empty: a root)', '父级（留空为根）'],
  model: ['Model', '模型'],
  systemPrompt: ['System prompt', '系统提示'],
  create: ['Create', '创建'],
  created: ['Created {name}', '已创建 {name}'],
  cancel: ['Cancel', '取消'],
  // connection and login
  connected: ['connected', '已连接'],
  disconnected: ['disconnected, retrying', '连接已断开，正在重试'],
  disconnectedToast: ['The connection to the server was lost', '与服务器的连接已断开'],
  reconnectedToast: ['Connected again', '已重新连接'],
  noTree: ['The server has no tree of agents.', '服务器没有智能体树。'],
  loadFailed: ['Loading failed: {message}', '加载失败: {message}'],
  actionFailed: ['Failed: {message}', '失败: {message}'],
  token: ['Access token', '访问令牌'],
  login: ['Log in', '登录'],
  logout: ['Log out', '退出登录'],
  loginFailed: ['The token was not accepted.', '令牌无效。'],
  language: ['Language', '语言'],
  panes: ['Parts of the page', '页面区域'],
};

const storageKey = 'agentcore-console-language';
let current = choose();

function choose() {
  let kept = null;
  try { kept = localStorage.getItem(storageKey); } catch { /* storage may be switched off */ }
  if (kept === 'en' || kept === 'zh') return kept;
  return (navigator.language ?? '').toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export const language = () => current;

export function setLanguage(next) {
  current = next;
  try { localStorage.setItem(storageKey, next); } catch { /* the choice lasts for this page only */ }
  translatePage();
  notify('language');
}

const pattern = (key) => texts[key]?.[current === 'zh' ? 1 : 0] ?? key;

export function t(key, values = {}) {
  return pattern(key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// The words for a name that the server sent: its code of an error or a reason, the type of an event, or a value. Of an unknown one, in
// English the sentence of the server.
export function word(kind, name, sentence = '') {
  if (current === 'en' && sentence && sentence !== name) return sentence;
  return words[kind]?.[name]?.[current === 'zh' ? 1 : 0] ?? (name || sentence || '');
}

// The same as nodes, for values that are elements.
export function parts(key, values = {}) {
  return pattern(key).split(/\{(\w+)\}/).map((piece, i) => (i % 2 ? values[piece] ?? '' : piece)).filter((piece) => piece !== '');
}

// One form for 1, another for other numbers.
export const counted = (key, n, shown = n) => t(n === 1 ? key + '1' : key, {n: shown});

// Fills the elements of index.html: data-i18n is the text, data-i18n-label the aria-label, and so on.
export function translatePage() {
  document.documentElement.lang = current === 'zh' ? 'zh-CN' : 'en';
  for (const element of document.querySelectorAll('[data-i18n]')) element.textContent = t(element.dataset.i18n);
  for (const [name, attribute] of [['i18nLabel', 'aria-label'], ['i18nTitle', 'title'], ['i18nPlaceholder', 'placeholder']]) {
    const selector = '[data-' + name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase()) + ']';
    for (const element of document.querySelectorAll(selector)) element.setAttribute(attribute, t(element.dataset[name]));
  }
}
