export { type ByteBudget, createByteBudget } from './byte-budget.ts';
export {
  type ClientConnections,
  type ConnectionsOptions,
  createConnections,
} from './connections.ts';
export { type HttpResponse, idOf, retryAfterSeconds, sendJson, stopping } from './http-message.ts';
export { createSavedSessions } from './saved-sessions.ts';
export { type SessionIdsOptions, createSessionIds } from './session-id.ts';
export { type Sse, createSse, messagesPath } from './sse.ts';
export { openStdio } from './stdio.ts';
export { type Streamable, type StreamableOptions, createStreamable } from './streamable.ts';
export { type WebSockets, createWebSockets } from './websocket.ts';
