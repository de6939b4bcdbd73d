export { type Management, addBuiltins } from './add-builtins.ts';
export { type FanOutNeeds, createFanOutServer } from './fan-out/fan-out.ts';
