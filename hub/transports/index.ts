export {
  type Streamable,
  type StreamableNeeds,
  type StreamableOptions,
  createStreamable,
} from './streamable.ts';
