import { type CommandLine, plainLine } from '#config';
import { type JsonObject, isSecretName } from '#core';
import type { ClientName } from './client.ts';
import { type Places, hubText } from './client-variables.ts';
import { type DockerLine, findDockerLine } from './docker-line.ts';
import type { ForeignEntry } from './foreign-entry.ts';
import type { SecretValues } from './secret-values.ts';

/** An entry of the hub's config, or why there can be none. */
export type Translated = { readonly entry: JsonObject } | { readonly why: string };

/** Variables of a machine that mean nothing in a container, or harm there. */
const ofTheMachine = new Set(['PATH', 'HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'SHELL']);

/** Thrown for a text of which the hub cannot know what it stands for. */
class Unknown extends Error {}

/**
 * The entry by which the hub runs a client's server in a container, or reaches it elsewhere. It starts with the
 * hub, as clients start all of theirs. Keys go to variables, so that none stands in the config.
 */
export function translate(
  foreign: ForeignEntry,
  client: ClientName,
  places: Places,
  secrets: SecretValues,
): Translated {
  /** A text as the hub's config says it, and in place of a key a reference to it. */
  const text = (name: string, written: string): string => {
    const converted = hubText(written, client, places);
    if ('unknown' in converted) throw new Unknown(converted.unknown);
    return converted.isLiteral ? secrets.moved(name, converted.text, written) : converted.text;
  };
  const all = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([name, written]) => [name, text(name, written)]));
  /** What stands behind `--token` is named by that. */
  const line = (args: readonly string[]) =>
    args.map((arg, index) => {
      const [, option, value] = /^(--?[\w-]+=)([^]*)$/.exec(arg) ?? [];
      if (option !== undefined && value !== undefined)
        return option + text(option.slice(0, -1), value);
      const before = args[index - 1] ?? '';
      return text(/^--?[\w-]+$/.test(before) && isSecretName(before) ? before : 'argument', arg);
    });

  try {
    const common = { ...(foreign.isDisabled && { disabled: true }), auto_start: true };
    if (foreign.url !== undefined) return { entry: { ...remote(foreign, text, all), ...common } };
    const plain = plainLine({ command: foreign.command ?? '', args: foreign.args });
    const docker = plain.command === 'docker' ? findDockerLine(plain.args) : undefined;
    if (plain.command === 'docker' && !docker)
      return {
        why: 'its "docker" line says more than an entry of the hub can. Add it by hand, with "image"',
      };
    const env = { ...all(foreign.env), ...handedOn(foreign.handedOn) };
    if (docker) return { entry: { ...ofImage(docker, env, all, line), ...common } };
    const entry = { command: text('command', plain.command), args: line(plain.args) };
    return { entry: { ...entry, ...withEnv(env), ...withFolder(foreign, plain, text), ...common } };
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    return { why: `${error.message} is known to the client only: write the value there first` };
  }
}

type Text = (name: string, written: string) => string;
type Texts = (texts: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;

function remote(foreign: ForeignEntry, text: Text, all: Texts): JsonObject {
  const { url = '', headersFrom, tokenFrom, transport } = foreign;
  const headers = {
    ...all(foreign.headers),
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

function ofImage(
  docker: DockerLine,
  env: Readonly<Record<string, string>>,
  all: Texts,
  line: (args: readonly string[]) => readonly string[],
): JsonObject {
  // Of its environment docker hands only those variables on that are named.
  const passed = docker.handedOn.map(name => [name, env[name] ?? `\${${name}:-}`] as const);
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
  const kept = Object.entries(env).filter(([name]) => !ofTheMachine.has(name.toUpperCase()));
  return kept.length > 0 ? { env: Object.fromEntries(kept) } : {};
}

const handedOn = (names: readonly string[]) =>
  Object.fromEntries(names.map(name => [name, `\${${name}:-}`]));

/** A package runs in a folder of its own, in which no other of this machine is. */
const withFolder = ({ cwd }: ForeignEntry, { command }: CommandLine, text: Text): JsonObject =>
  cwd === undefined || command === 'npx' || command === 'uvx' ? {} : { cwd: text('cwd', cwd) };
