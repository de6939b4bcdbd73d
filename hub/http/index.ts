export { type Http, type HttpNeeds, type HttpOptions, createHttp } from './http.ts';
export type { EngineReport } from './routes/health.ts';
