import { type CommandLine, plainLine } from '#config';
import { type JsonObject, isSecretName } from '#core';
import type { ClientName } from './client/client.ts';
import type { ClientEntry } from './client/entry.ts';
import { type ClientFolders, hubText } from './client/variables.ts';
import { type DockerRun, readDockerRun } from './docker-run.ts';
import type { SecretExtractor } from './extract-secrets.ts';

/** An entry of the hub's config, or the reason why there is none. */
export type Translated = { readonly entry: JsonObject } | { readonly why: string };

/** Variables of this machine that are useless or harmful in a container. */
const machineVariables = new Set([
  'PATH',
  'HOME',
  'USERPROFILE',
  'APPDATA',
  'LOCALAPPDATA',
  'SHELL',
]);

/** Thrown for a variable that only the client can expand. */
class UnknownVariable extends Error {}

/**
 * Translates a client's entry to one of the hub, which runs the server in a container or reaches it remotely.
 * The server starts with the hub, as clients start theirs. Secrets become variables, so none is in the config.
 */
export function translate(
  clientEntry: ClientEntry,
  client: ClientName,
  folders: ClientFolders,
  secrets: SecretExtractor,
): Translated {
  /** Converts a text to the hub's syntax, with a reference in place of a secret. */
  const text = (name: string, written: string): string => {
    const converted = hubText(written, client, folders);
    if ('unknown' in converted) throw new UnknownVariable(converted.unknown);
    return converted.isLiteral ? secrets.extract(name, converted.text, written) : converted.text;
  };
  const all = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([name, written]) => [name, text(name, written)]));
  /** A value after an option such as `--token` takes its name from it. */
  const line = (args: readonly string[]) =>
    args.map((arg, index) => {
      const [, option, value] = /^(--?[\w-]+=)([^]*)$/.exec(arg) ?? [];
      if (option !== undefined && value !== undefined)
        return option + text(option.slice(0, -1), value);
      const before = args[index - 1] ?? '';
      return text(/^--?[\w-]+$/.test(before) && isSecretName(before) ? before : 'argument', arg);
    });

  try {
    const common = { ...(clientEntry.isDisabled && { disabled: true }), auto_start: true };
    if (clientEntry.url !== undefined)
      return { entry: { ...remoteEntry(clientEntry, text, all), ...common } };
    const plain = plainLine({ command: clientEntry.command ?? '', args: clientEntry.args });
    const docker = plain.command === 'docker' ? readDockerRun(plain.args) : undefined;
    if (plain.command === 'docker' && !docker)
      return {
        why: 'the hub does not support all options of its "docker" command. Add the server by hand, with "image"',
      };
    const env = { ...all(clientEntry.env), ...passThrough(clientEntry.passedThrough) };
    if (docker) return { entry: { ...imageEntry(docker, env, all, line), ...common } };
    const entry = { command: text('command', plain.command), args: line(plain.args) };
    return {
      entry: { ...entry, ...withEnv(env), ...withCwd(clientEntry, plain, text), ...common },
    };
  } catch (error) {
    if (!(error instanceof UnknownVariable)) throw error;
    return { why: `${error.message} is known to the client only: write the value there first` };
  }
}

type Text = (name: string, written: string) => string;
type Texts = (texts: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;

function remoteEntry(clientEntry: ClientEntry, text: Text, all: Texts): JsonObject {
  const { url = '', headersFrom, tokenFrom, transport } = clientEntry;
  const headers = {
    ...all(clientEntry.headers),
    ...Object.fromEntries(
      Object.entries(headersFrom).map(([header, variable]) => [header, `\${${variable}}`]),
    ),
    ...(tokenFrom !== undefined && { Authorization: `Bearer \${${tokenFrom}}` }),
  };
  return {
    url: text('url', url),
    ...(transport === 'sse' && { transport }),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

function imageEntry(
  docker: DockerRun,
  env: Readonly<Record<string, string>>,
  all: Texts,
  line: (args: readonly string[]) => readonly string[],
): JsonObject {
  // Docker passes only named variables on.
  const passed = docker.passedThrough.map(name => [name, env[name] ?? `\${${name}:-}`] as const);
  const { mounts, volumes, network, user, cwd, command } = docker;
  return {
    image: docker.image,
    ...(command !== undefined && { command }),
    ...(docker.args.length > 0 && { args: line(docker.args) }),
    ...withEnv({ ...all(docker.env), ...Object.fromEntries(passed) }),
    ...(mounts.length > 0 && { mounts }),
    ...(Object.keys(volumes).length > 0 && { volumes }),
    ...(network !== undefined && { network }),
    ...(user !== undefined && { user }),
    ...(cwd !== undefined && { cwd }),
  };
}

function withEnv(env: Readonly<Record<string, string>>): JsonObject {
  const kept = Object.entries(env).filter(([name]) => !machineVariables.has(name.toUpperCase()));
  return kept.length > 0 ? { env: Object.fromEntries(kept) } : {};
}

const passThrough = (names: readonly string[]) =>
  Object.fromEntries(names.map(name => [name, `\${${name}:-}`]));

/** npx and uvx packages run in a folder of their own, where this machine's folders do not exist. */
const withCwd = ({ cwd }: ClientEntry, { command }: CommandLine, text: Text): JsonObject =>
  cwd === undefined || command === 'npx' || command === 'uvx' ? {} : { cwd: text('cwd', cwd) };
