import { HubError } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import type { Image } from '../container/options.ts';

/**
 * Shell script that reads one line, exports its variables, and executes the server. It contains no secret, because the
 * engine shows it. `read` takes no byte after the line break, so the first message stays in the pipe. `set +x`:
 * tracing, which an image may turn on, would write the values to the log.
 */
const script = `set -f +x
IFS= read -r _agenthub_line || exit 97
for _agenthub_pair in $_agenthub_line; do
  _agenthub_value=$(printf '%b.' "\${_agenthub_pair#*=}")
  export "\${_agenthub_pair%%=*}=\${_agenthub_value%.}"
done
unset _agenthub_line _agenthub_pair _agenthub_value
set +f
exec "$@"`;
export const shell = '/bin/sh';
/** Name of the shim in the command line of its container, and in messages of the shell. */
const shimName = 'agenthub-secrets';

/** Maximum size of `NAME=value` with a final NUL, in bytes. Limit of Linux (MAX_ARG_STRLEN). */
const maxVariableBytes = 131_072;
/**
 * Maximum size of all variables with secrets, in bytes. Linux allows about 2 MiB for the arguments and the environment.
 */
const maxTotalBytes = 2 ** 20;

/** Variable names that a shell can export. */
const shellName = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Variables with a special meaning for the shim, dash, bash, busybox or ksh, which refuse or change the value, or write
 * it to stderr. IFS and PATH are not among them.
 */
const shellVariable =
  /^(?:_|_agenthub_.*|BASH.*|COMP_.*|DIRSTACK|EPOCH.*|E?UID|FUNCNAME|GROUPS|HISTCMD|KSH_VERSION|LANG|LC_.*|LINENO|MAILCHECK|OPTIND|PIPESTATUS|PPID|S?RANDOM|SECONDS|SHELLOPTS|SHLVL|TMOUT)$/;

type ImageLine = Pick<Image, 'entrypoint' | 'command' | 'env'>;

/**
 * Returns the variables of a launch spec that contain secrets. Throws HUB_LAUNCH_INVALID for values that no process can
 * receive.
 */
export function secretsOf(spec: LaunchSpec): Readonly<Record<string, string>> {
  const { env, secretEnv = [] } = spec;
  const found: Record<string, string> = {};
  let totalBytes = 0;
  for (const name of secretEnv) {
    const value = env[name];
    if (value === undefined) continue;
    const bytes = Buffer.byteLength(`${name}=${value}`) + 1;
    totalBytes += bytes;
    if (value.includes('\0'))
      throw refusal(
        spec,
        name,
        'has a NUL character, which no variable can hold. Set the secret again without it',
      );
    if (bytes > maxVariableBytes)
      throw refusal(
        spec,
        name,
        `is ${bytes} bytes long with its name, and Linux allows ${maxVariableBytes}. Give the server a file instead ("mounts")`,
      );
    if (totalBytes > maxTotalBytes)
      throw refusal(
        spec,
        name,
        `makes the variables with secrets ${totalBytes} bytes long, and ${maxTotalBytes} are allowed. Give the server a file instead ("mounts")`,
      );
    found[name] = value;
  }
  return found;
}

/**
 * Puts the shim before the command of a container, and removes the secrets from its environment. The shim reads
 * `line`. Throws HUB_LAUNCH_INVALID for variables that no shell can set. Undefined if neither the spec nor the image
 * names a command.
 */
export function throughShim(spec: LaunchSpec, target: DockerTarget, image: ImageLine) {
  const secrets = secretsOf(spec);
  for (const name of Object.keys(secrets)) {
    if (!shellName.test(name))
      throw refusal(
        spec,
        name,
        'cannot be set by the shell that receives it: such names consist of letters, digits and "_". Rename it',
      );
    if (shellVariable.test(name))
      throw refusal(
        spec,
        name,
        'has a meaning of its own for the shell that receives it. Rename it, or remove the secret from it',
      );
  }
  const words = commandOf(target, image);
  if (words.length === 0) return undefined;
  const rest = Object.entries(spec.env).filter(([name]) => !Object.hasOwn(secrets, name));
  return {
    spec: { ...spec, env: Object.fromEntries(rest) },
    target: {
      ...target,
      command: shell,
      args: ['-c', script, shimName, ...unsettable(rest, image), ...words],
    },
    line: lineOf(secrets),
  };
}

/** True if a container with this command line received its secrets through the shim. */
export const isThroughShim = (words: readonly string[]): boolean => words[3] === shimName;

/** Returns the command line of a container: a command in the spec replaces the image's entrypoint and its arguments. */
function commandOf({ command, args }: DockerTarget, image: ImageLine): readonly string[] {
  if (command !== undefined) return [command, ...args];
  return [...image.entrypoint, ...(args.length > 0 ? args : image.command)];
}

/** Sets variables again by `env` that most shells drop because they cannot name them, such as `discovery.type`. */
function unsettable(own: readonly (readonly [string, string])[], image: ImageLine) {
  const all = [...image.env, ...own.map(([name, value]) => `${name}=${value}`)];
  const dropped = all.filter(pair => !shellName.test(pair.slice(0, pair.indexOf('='))));
  return dropped.length > 0 ? ['/usr/bin/env', ...dropped] : [];
}

/** Printable characters without a special meaning in a word of a shell, or in the `%b` of its `printf`. */
const plain = /[A-Za-z0-9_./:,@%+-]/;

/** Encodes the variables as one line of ASCII: pairs with a space between them, and all special bytes in octal. */
function lineOf(secrets: Readonly<Record<string, string>>): Buffer {
  const encode = (value: string) =>
    Array.from(Buffer.from(value), byte => {
      const character = String.fromCharCode(byte);
      return plain.test(character) ? character : `\\0${byte.toString(8).padStart(3, '0')}`;
    }).join('');
  const pairs = Object.entries(secrets).map(([name, value]) => `${name}=${encode(value)}`);
  return Buffer.from(`${pairs.join(' ')}\n`);
}

/** Creates an error that names a variable and never shows its value. */
const refusal = ({ server }: LaunchSpec, variable: string, problem: string) =>
  new HubError(
    'HUB_LAUNCH_INVALID',
    `${server}: the variable ${JSON.stringify(variable)} in "env", which contains a secret, ${problem}`,
    { data: { server, variable } },
  );
