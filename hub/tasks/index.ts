export { contractSchemaText } from './contract.ts';
export { createModelCalls } from './model-calls/model-calls.ts';
