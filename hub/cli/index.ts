export { createAsk } from './ask.ts';
export { type CliNeeds, createCli } from './cli.ts';
export type { ServeOptions } from './commands/serve.ts';
export { openBrowser } from './browser.ts';
export { createHubLocator } from './hub-locator.ts';
export { createIo } from './terminal.ts';
