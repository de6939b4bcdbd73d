import { plainLine } from '#config';
import { type JsonObject, isSecretName } from '#core';
import type { ClientName } from './client/client.ts';
import { type ClientEntry, type ClientFolders, hubText } from './client/entry.ts';
import { type DockerRun, readDockerRun } from './docker-run.ts';
import { filled } from './filled.ts';
import { type RemoteBridge, readRemoteBridge } from './remote-bridge.ts';
import type { SecretExtractor } from './secrets.ts';

/** Variables of this machine that are useless or harmful in a container. */
const machineVariables = /^(?:PATH|HOME|USERPROFILE|APPDATA|LOCALAPPDATA|SHELL)$/i;

/** Thrown for a variable that only the client can expand. */
class UnknownVariable extends Error {}

type Converter = ReturnType<typeof createConverter>;
type Texts = Readonly<Record<string, string>>;

/** Creates functions that convert texts to the hub's syntax, with references in place of secrets. */
function createConverter(client: ClientName, folders: ClientFolders, secrets: SecretExtractor) {
  function text(name: string, written: string, syntax: ClientName = client): string {
    const converted = hubText(written, syntax, folders);
    if ('unknown' in converted) throw new UnknownVariable(converted.unknown);
    return converted.isLiteral ? secrets.extract(name, converted.text, written) : converted.text;
  }
  return {
    text,
    all: (texts: Texts): Texts =>
      Object.fromEntries(
        Object.entries(texts).map(([name, written]) => [name, text(name, written)]),
      ),
    /** Converts a command line. A value after an option such as `--token` gets its variable's name from that option. */
    line: (args: readonly string[]): readonly string[] =>
      args.map((arg, index) => {
        const [, option, value] = /^(--?[\w-]+=)([^]*)$/.exec(arg) ?? [];
        if (option !== undefined && value !== undefined)
          return option + text(option.slice(0, -1), value);
        const before = args[index - 1] ?? '';
        return text(/^--?[\w-]+$/.test(before) && isSecretName(before) ? before : 'argument', arg);
      }),
  };
}

/**
 * Translates a client's entry to an entry of the hub, which runs the server in a container or connects to a remote one.
 * The server starts with the hub, as clients start theirs. Secrets become variables, so that the config contains none.
 */
export function translate(
  clientEntry: ClientEntry,
  client: ClientName,
  folders: ClientFolders,
  secrets: SecretExtractor,
): { readonly entry: JsonObject } | { readonly why: string } {
  const convert = createConverter(client, folders, secrets);
  const { isDisabled, url, command = '', args, cwd, timeoutSeconds } = clientEntry;
  try {
    const common = {
      ...(isDisabled && { disabled: true }),
      ...toolRules(clientEntry),
      ...(timeoutSeconds !== undefined && { timeout: timeoutSeconds }),
      auto_start: true,
    };
    if (url !== undefined)
      return { entry: { ...remoteEntry(url, clientEntry, convert), ...common } };
    const plain = plainLine({ command, args });
    const isDocker = plain.command === 'docker';
    const docker = isDocker ? readDockerRun(plain.args) : undefined;
    if (isDocker && !docker)
      return {
        why: 'the hub does not support all options of its "docker" command. Add the server by hand, with "image"',
      };
    const bridge = plain.command === 'npx' ? readRemoteBridge(plain.args) : undefined;
    if (bridge && 'why' in bridge) return bridge;
    if (bridge) {
      const tools = toolRules(clientEntry, bridge.deniedTools);
      return { entry: { ...bridgedEntry(bridge, clientEntry, convert), ...common, ...tools } };
    }
    const passed = clientEntry.passedThrough.map(name => [name, `\${${name}:-}`]);
    const env = { ...convert.all(clientEntry.env), ...Object.fromEntries(passed) };
    if (docker) return { entry: { ...imageEntry(docker, env, convert), ...common } };
    // Drop the folder for npx and uvx: their packages run in a folder of their own, without this machine's folders.
    const hasFolder = cwd !== undefined && plain.command !== 'npx' && plain.command !== 'uvx';
    return {
      entry: {
        command: convert.text('command', plain.command),
        args: convert.line(plain.args),
        ...filled({ env: usefulIn(env) }),
        ...(hasFolder && { cwd: convert.text('cwd', cwd) }),
        ...common,
      },
    };
  } catch (error) {
    if (!(error instanceof UnknownVariable)) throw error;
    return { why: remedyFor(error.message) };
  }
}

/** Returns why a variable keeps a server from being imported, and what to do. Windsurf knows `${file:PATH}`. */
const remedyFor = (variable: string) =>
  variable.startsWith('${file:')
    ? `${variable} is the content of a file, which an import does not read: write the content there first. A key in it becomes a secret`
    : `${variable} is known to the client only: write the value there first`;

/** Returns the value of `tools` for the tools that the user switched off in the client. */
function toolRules(
  { allowedTools, deniedTools }: ClientEntry,
  others: readonly string[] = [],
): JsonObject {
  const deny = [...deniedTools, ...others];
  const tools = {
    ...(allowedTools && { allow: allowedTools }),
    ...(deny.length > 0 && { deny }),
  };
  return Object.keys(tools).length > 0 ? { tools } : {};
}

function remoteEntry(
  url: string,
  { headersFrom, tokenFrom, transport, oauth, headers: written }: ClientEntry,
  { text, all }: Converter,
): JsonObject {
  const references = Object.entries(headersFrom).map(([name, from]) => [name, `\${${from}}`]);
  const headers = {
    ...all(written),
    ...Object.fromEntries(references),
    ...(tokenFrom !== undefined && { Authorization: `Bearer \${${tokenFrom}}` }),
  };
  return {
    url: text('url', url),
    ...(transport === 'sse' && { transport }),
    ...filled({ headers, oauth: oauth && loginOf(oauth, text) }),
  };
}

/** Converts the OAuth client of a remote server. Its secret becomes a variable. */
function loginOf(oauth: JsonObject, text: Converter['text']): JsonObject {
  const converted = (key: string) => {
    const value = oauth[key];
    return typeof value === 'string' ? text(key, value) : undefined;
  };
  return filled({
    client_id: converted('client_id'),
    scopes: oauth['scopes'],
    client_secret: converted('client_secret'),
  });
}

/** Returns an entry for the server behind mcp-remote, which expands `${NAME}` in headers from its own environment. */
function bridgedEntry(
  { url, headers, transport, oauth }: RemoteBridge,
  { env }: ClientEntry,
  { text }: Converter,
): JsonObject {
  const valueOf = (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined);
  const expanded = Object.entries(headers).map(([name, written]) => {
    const value = written.replaceAll(/\$\{(\w+)\}/g, (all, of: string) => valueOf(of) ?? all);
    return [name, text(name, value, value === written ? 'claude-code' : undefined)] as const;
  });
  return {
    url: text('url', url),
    ...(transport === 'sse' && { transport }),
    ...filled({
      headers: Object.fromEntries(expanded),
      oauth: oauth && loginOf(oauth, text),
    }),
  };
}

function imageEntry(docker: DockerRun, given: Texts, { all, line }: Converter): JsonObject {
  // Docker only passes on the variables that its command line names.
  const passed = docker.passedThrough.map(name => [name, given[name] ?? `\${${name}:-}`] as const);
  return filled({
    image: docker.image,
    command: docker.command,
    args: line(docker.args),
    env: usefulIn({ ...all(docker.env), ...Object.fromEntries(passed) }),
    mounts: docker.mounts,
    volumes: docker.volumes,
    network: docker.network,
    user: docker.user,
    cwd: docker.cwd,
    resources: docker.resources,
  });
}

/** Returns the variables of an entry without those of this machine. */
const usefulIn = (env: Texts): Texts =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !machineVariables.test(name)));
