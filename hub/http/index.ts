export type { Prompts } from './routes/ollama.ts';
export type { PromptHealth } from './routes/prompt-health.ts';
export { type HttpOptions, createHttp } from './http.ts';
export type { HttpNeeds } from './http-needs.ts';
export { createSocketTables } from './socket-tables.ts';
export type { CallToken } from './guard.ts';
export type { ConfigControl } from './routes/config.ts';
export type { Engine } from './routes/health.ts';
