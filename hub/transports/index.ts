export { idOf, sendJson } from './answer.ts';
export {
  type Streamable,
  type StreamableNeeds,
  type StreamableOptions,
  createStreamable,
} from './streamable.ts';
