import type { LocalLaunch, ServerConfig } from '#config';
import { HubError, isSecretName } from '#core';
import type { InstallStep } from './request.ts';

/** Matches the name of an environment variable in the output of a program that failed to start. */
const variable = /\b([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])\b/;
const wanting =
  /\b(?:required|missing|must|not set|no value|environment|provided?|undefined|needs?)\b/i;
/** Matches advice. Programs also give it about variables that they do not need, such as LOG_LEVEL. */
const advice = /\b(?:set|pass|export)\b/i;
const cutOff =
  /\bENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|getaddrinfo|name resolution|Network is unreachable/i;

/** Line of npm about a failed install script. */
const failedScript = /^npm error command sh -c /m;

/** Python errors of a server that was written for version 1 of the package mcp, but runs with version 2. */
const newerMcp =
  /cannot import name '\w+' from 'mcp\.|No module named 'mcp\.|'(?:Server|FastMCP)' object has no attribute/;

type Context = {
  readonly isNetworkless: boolean;
  /** True if the trial ran as a process, without a sandbox. */
  readonly isProcess?: boolean;
  /** What was installed. Undefined if that is not known yet. */
  readonly launch?: ServerConfig['launch'] | undefined;
};

/** Returns an install's error with a remedy. An error that is not a HubError is a bug, and is returned as it is. */
export function failureAt(
  step: InstallStep,
  error: unknown,
  output: readonly string[],
  context: Context,
): unknown {
  if (!(error instanceof HubError)) return error;
  const remedy = remedyOf(error, output.join('\n'), context);
  return new HubError(
    error.code,
    remedy === undefined ? error.message : `${error.message.replace(/\.$/, '')}. ${remedy}`,
    {
      cause: error,
      data: { ...error.data, step, ...(output.length > 0 && { output: output.join('\n') }) },
    },
  );
}

function remedyOf(
  { code, data, message }: HubError,
  output: string,
  { isNetworkless, isProcess, launch }: Context,
): string | undefined {
  const said = `${data.stderr ?? ''}\n${output}`;
  switch (code) {
    case 'HUB_REMOTE_UNREACHABLE':
      return remoteRemedyOf(data['status'], message);
    case 'HUB_SERVER_START_FAILED': {
      // The message of this error already contains the remedy.
      if (data['system_packages'] !== undefined || message.includes('"resources"'))
        return undefined;
      const lost =
        isProcess && launch?.kind === 'local'
          ? launch.sandbox.mounts.find(({ target }) => said.includes(target))
          : undefined;
      if (lost)
        return `It runs as a process of this machine, which has no mounts: start Docker, or write ${lost.source} instead of ${lost.target} in its "args"`;
      if (newerMcp.test(said))
        return 'It seems to be written for an older version of the package mcp. Add "with": ["mcp<2"] to its entry (agenthub add --with "mcp<2")';
      const name = neededVariableIn(said);
      if (name !== undefined) return variableRemedyOf(name);
      if (isNetworkless && cutOff.test(said))
        return 'It has no network: add "network": "bridge" if it may have one';
      return 'Check that it is an MCP server that speaks over stdin and stdout, and give it the "args" and "env" that its documentation names';
    }
    case 'HUB_IMAGE_BUILD_FAILED':
      // An install script needs the network: the message contains the remedy, and no other version helps.
      if (data.retryable === false) return undefined;
      if (failedScript.test(`${message}\n${output}`))
        return 'An install script of the package failed. Such scripts run without root: name what they need of Debian in "system_packages" (agenthub add --system-package NAME), or give the server an image or a "build" with a Dockerfile of your own';
      return withCommand(
        'Correct the name or the version in "package", or choose another version',
        launch,
      );
    case 'HUB_IMAGE_MISSING':
      return withCommand(undefined, launch);
    case 'HUB_COMMAND_MISSING':
      return 'With a Docker engine it is not needed: packages are then installed in images';
    default:
      return undefined;
  }
}

/** Returns the first variable that the output of a program says it needs. */
function neededVariableIn(output: string): string | undefined {
  for (const line of output.split('\n')) {
    const [, name] = variable.exec(line) ?? [];
    if (name === undefined) continue;
    if (wanting.test(line) || (isSecretName(name) && advice.test(line))) return name;
  }
  return undefined;
}

function variableRemedyOf(name: string): string {
  if (!isSecretName(name))
    return `It seems to need a variable: add "env": {"${name}": "..."} with its value (agenthub add -e ${name}=VALUE)`;
  const reference = `\${secret:${name}}`;
  return `It seems to need a key: store it with "agenthub secret set ${name}", and add "env": {"${name}": "${reference}"} (agenthub add -e ${name}='${reference}')`;
}

/** Adds a command for the user to examine the problem. It runs no code of the package. */
function withCommand(remedy: string | undefined, launch: Context['launch']): string | undefined {
  const command = launch?.kind === 'local' ? commandFor(launch) : undefined;
  if (command === undefined) return remedy;
  return `${remedy === undefined ? '' : `${remedy}. `}To look by hand: ${command}`;
}

function commandFor({ package: source, image }: LocalLaunch): string | undefined {
  if (source?.ecosystem === 'npm')
    return `npm view ${source.spec.replace(/(?<=.)@[^@/]*$/, '')} versions`;
  if (source?.ecosystem === 'pypi')
    return `pip index versions ${/^[\w.-]+/.exec(source.spec)?.[0] ?? source.spec}`;
  return image === undefined ? undefined : `docker pull ${image}`;
}

function remoteRemedyOf(status: unknown, message: string): string | undefined {
  if (status === 401 || status === 403)
    return `If it wants a key, store that with "agenthub secret set NAME" and add "headers": {"Authorization": "Bearer \${secret:NAME}"} (agenthub add --header 'Authorization=Bearer \${secret:NAME}')`;
  if (status === 404 || status === 405)
    return 'Check the path, or add "transport": "sse" if it speaks HTTP with SSE';
  return /certificate|self-signed|TLS|SSL/i.test(message)
    ? 'Name the certificate of its authority in NODE_EXTRA_CA_CERTS and start the hub again'
    : undefined;
}

/** Creates the error of a change that the stop of the hub prevents. `change` completes "nothing is ...". */
export const stoppingError = (server: string, change: string) =>
  new HubError('HUB_SHUTTING_DOWN', `${server}: the hub is stopping, so nothing is ${change}`, {
    data: { server, retryable: true },
  });

/** Creates the error of a change that its caller has cancelled. `change` completes "it was not ...". */
export const cancelledError = (server: string, change: string, cause: unknown) =>
  new HubError(
    'HUB_CALL_CANCELLED',
    `${server} was not ${change}: ${cause instanceof HubError ? cause.message : 'the client hung up'}`,
    { cause, data: { server } },
  );
