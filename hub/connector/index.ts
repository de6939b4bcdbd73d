export { bridgeStdio } from './bridge.ts';
export { dialHub, refused, unreachable } from './dial.ts';
