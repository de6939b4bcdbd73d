export { type Router, type RouterNeeds, createRouter } from './router.ts';
export type { Exchange, Session, View } from './session.ts';
