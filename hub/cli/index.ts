export { createAsk } from './ask.ts';
export { type Cli, type CliNeeds, createCli } from './cli.ts';
export type { ExitCode, Io } from './command.ts';
export type { Checked } from './commands/check.ts';
export type { ConnectOptions } from './commands/connect-stdio.ts';
export type { Holding, Patient } from './commands/doctor.ts';
export type { Running, ServeOptions } from './commands/serve.ts';
export type { HubPlace } from './hub-client.ts';
export { type Streams, createIo } from './terminal.ts';
