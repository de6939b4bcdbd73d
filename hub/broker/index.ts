export { createBroker } from './broker.ts';
export { readBrokerOptions } from './settings.ts';
