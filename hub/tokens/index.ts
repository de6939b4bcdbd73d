export { type TokenCounter, createTokenCounter } from './counter.ts';
