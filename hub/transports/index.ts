export { idOf, sendJson } from './answer.ts';
export {
  type ByteBudget,
  type ByteBudgetNeeds,
  type ByteBudgetOptions,
  createByteBudget,
  noBudget,
} from './byte-budget.ts';
export {
  type Connections,
  type ConnectionsNeeds,
  type ConnectionsOptions,
  createConnections,
} from './connection-table.ts';
export { maxMessageBytes } from './connection.ts';
export type { HttpRequest, HttpResponse } from './http-message.ts';
export {
  type SavedSessions,
  type SavedSessionsNeeds,
  type SavedSessionsOptions,
  createSavedSessions,
} from './saved-sessions.ts';
export { type SessionIds, type SessionIdsOptions, createSessionIds } from './session-id.ts';
export { type Sse, createSse, messagesPath } from './sse.ts';
export { type Stdio, type StdioNeeds, type StdioOptions, openStdio } from './stdio.ts';
export {
  type Streamable,
  type StreamableNeeds,
  type StreamableOptions,
  createStreamable,
} from './streamable.ts';
export { retryAfterSeconds, stopping } from './unavailable.ts';
export { type WebSockets, type WebSocketsOptions, createWebSockets } from './websocket.ts';
