export type { HubScreen, WatchedServers } from './screen/hub-screen.ts';
export { openBrowser } from './browser.ts';
export { createCli } from './cli.ts';
export { createEnding } from './ending.ts';
export { createHubLocator, findAddress } from './hub-locator.ts';
export type { CliNeeds, LoadedConfig, ServeOptions } from './needs.ts';
export { createAsk, createIo } from './terminal.ts';
