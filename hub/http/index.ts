export { type Http, type HttpNeeds, type HttpOptions, createHttp } from './http.ts';
export type { Engine } from './routes/health.ts';
