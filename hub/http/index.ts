export { type HttpOptions, createHttp } from './http.ts';
export type { CallToken } from './guard.ts';
export type { ConfigControl, Engine, HttpNeeds } from './http-needs.ts';
export { createSocketTables } from './socket-tables.ts';
export type { Prompts } from './routes/ollama.ts';
export type { PromptHealth } from './routes/prompt-health.ts';
