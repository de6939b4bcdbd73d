export { contractSchemaText } from './contract.ts';
