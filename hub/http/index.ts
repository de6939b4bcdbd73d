export { type HttpOptions, checkTls, createHttp } from './http.ts';
export type { CallToken } from './guard.ts';
export type { ConfigControl, HttpNeeds, Prompts } from './http-needs.ts';
export { createSocketTables } from './peers.ts';
