import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { type CliNeeds, createCli, createIo } from '#cli';
import type { Installation, OllamaReport } from '../../hub/cli/needs.ts';
import { systemClock } from '#core';

export type Outcome = { readonly code: number; readonly out: string; readonly err: string };

/** Streams that replace those of a process. */
export type Fake = {
  /** Width of the terminal that stdout and stderr are; undefined if they are pipes. */
  readonly columns?: number;
  readonly input?: string | Buffer;
  readonly signal?: AbortSignal;
  /** Called with each text that is written to stdout, and the stream. */
  readonly onOut?: (text: string, stdout: PassThrough) => void;
  /** Called with the text of stderr after each write. */
  readonly onErr?: (text: string) => void;
};

/** Any of the dependencies of commands, without their groups. */
export type FlatNeeds = Partial<CliNeeds & CliNeeds['services'] & CliNeeds['files']>;

const refuse = (what: string) => async () => assert.fail(`nothing asked for ${what}`);

/** Returns the dependencies of commands. Those that `needs` does not contain fail the test when they are used. */
export const createNeeds = (needs: FlatNeeds): CliNeeds => ({
  version: '1.2.3',
  services: {
    startApp: refuse('the app'),
    connectStdio: refuse('a hub on stdin'),
    startBroker: refuse('the broker'),
    ...needs,
  },
  files: {
    loadConfig: refuse('the config'),
    checkPlaces: async () => [],
    findLockFault: async () => undefined,
    readTokenNames: async () => [],
    findConfigFile: refuse('a config file'),
    createConfig: async () => undefined,
    readRecipe: refuse('a recipe'),
    findDotenv: async () => '.env',
    describeProgram: async () => ({
      node: '/usr/bin/node',
      script: '/opt/agenthub/bin/agenthub.mjs',
      folder: '/srv/hub',
      env: { PATH: '/usr/bin' },
      platform: 'linux',
      home: '/home/ada',
      version: '1.2.3',
    }),
    editConfig: refuse('a change of the config'),
    openTokens: refuse('tokens'),
    findDataFolders: refuse('the data folders'),
    openSecrets: refuse('the secrets'),
    removeStoredLogin: async () => false,
    secretsLeftBy: async () => [],
    recordChange: refuse('a line of the audit log'),
    ...needs,
  },
  examine: refuse('the engine'),
  findHub: refuse('a hub'),
  findOwnerKey: refuse("the owner's key"),
  openBrowser: refuse('a browser'),
  openClients: refuse('the clients'),
  findBridge: refuse('the bridge'),
  ask: undefined,
  ...needs,
});

/** Returns an installation without an engine, with this report about Ollama. */
export const installationOf = (ollama: OllamaReport): Installation => ({
  hubId: undefined,
  dataDir: '/data',
  hubName: 'agenthub',
  engine: async () => 'Docker Engine 1.0',
  ignoredLimits: async () => undefined,
  holdings: async () => [],
  knownHubs: async () => [],
  composeHubs: async () => [],
  remove: refuse('a removal'),
  removeVolumes: refuse('a removal'),
  ollama: async () => ollama,
  volumesOf: () => [],
});

/** Runs a command line in this process. Returns its exit code and output, without the last line break. */
export async function run(
  args: readonly string[],
  needs: FlatNeeds = {},
  { columns, input = '', signal = AbortSignal.timeout(20_000), onOut, onErr }: Fake = {},
): Promise<Outcome> {
  const stdin = new PassThrough();
  stdin.end(input);
  const createOutput = () =>
    Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  const stdout = createOutput();
  const stderr = createOutput();
  let out = '';
  let err = '';
  stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
    onOut?.(out, stdout);
  });
  stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
    onErr?.(err);
  });
  const code = await createCli(createNeeds(needs)).run(
    args,
    createIo({ stdin, stdout, stderr }, signal, systemClock),
  );
  // The last writes still pass through the streams.
  await new Promise(resolve => setImmediate(resolve));
  return { code, out: out.replace(/\n$/, ''), err: err.replace(/\n$/, '') };
}
