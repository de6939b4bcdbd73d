import { z } from 'zod';
import { keptResults } from './kept-results-schema.ts';
import { needsDescriptions, needsShape } from './needs-schema.ts';
import { mountInAnyForm, volumesInAnyForm } from './mounts-schema.ts';
import {
  describeKeys,
  matching,
  secondsBetween,
  shortName,
  size,
  tag,
  text,
} from './schema-parts.ts';

/** Defaults for an entry with `"instance": "session"`. Other entries do not use these values. */
export const instanceDefaults = { maxInstances: 20, idleSeconds: 1800 } as const;

/** Number of seconds up to one day, because Node's timers overflow after 24.8 days. */
const seconds = secondsBetween(1, 86_400);
/** Name of a server, which becomes part of container names, tool names and URLs. */
export const serverName = shortName('a server name');
const envName = matching(/^[^=\0]+$/, 'the name of a variable is not empty and holds no "="');
const headerName = matching(
  /^[!#$%&'*+.^_`|~\w-]+$/,
  'the name of a header has letters, digits and "-"',
);
/** Network access of a server as a list. */
const networkList = z.strictObject({
  allow: z
    .array(text)
    .max(200)
    .describe(
      'Targets: "api.example.com" (ports 80 and 443), "*.example.com:443" (all names below it), "db.internal:5432" (any TCP service, also on a private address), or "*".',
    ),
});
const network = z.union([
  networkList,
  z.enum(['none', 'bridge'], 'write "none", "bridge" or {"allow": ["api.example.com"]}'),
]);
const pythonVersion = matching(/^3\.\d{1,2}(?:\.\d{1,2})?$/, 'write a version such as "3.12"');
const userForm = 'write a user such as "1000" or "1000:1000"';
const user = z.union(
  [z.int().min(0), matching(/^[\w][\w.-]*(:[\w][\w.-]*)?$/, userForm)],
  userForm,
);

/** Limits of a server whose entry sets none. */
export const resourceDefaults = {
  memory: '512m',
  cpus: 1,
  pids: 256,
  scratch: '64m',
  volumes: '10g',
} as const;

const resources = describeKeys(
  z.strictObject({
    memory: size.default(resourceDefaults.memory),
    cpus: z.number().min(0.01).max(1024).default(resourceDefaults.cpus),
    pids: z.int().min(1).max(4_194_304).default(resourceDefaults.pids),
    scratch: size.default(resourceDefaults.scratch),
    volumes: size.default(resourceDefaults.volumes),
  }),
  {
    memory: 'Memory limit, such as "512m". At least 6m.',
    cpus: 'Processor cores, such as 0.5.',
    pids: 'Maximum number of processes and threads.',
    scratch:
      'Size limit of each of /tmp, the home folder and the empty folders that the image declares as volumes. Their content is in memory, and is deleted when the server stops.',
    volumes:
      'Total size limit of the volumes of the server, such as "2g". A server that exceeds it is stopped.',
  },
);

/** Name of a tool in a form that clients and model APIs accept. */
const toolName = matching(
  /^[\w.-]{1,128}$/,
  'the name of a tool has 1 to 128 letters, digits, "_", "-" and "."',
);

/** Maximum number of names in each list. */
const maxToolNames = 10_000;

const tools = describeKeys(
  z.strictObject({
    allow: z.array(text.min(1)).max(maxToolNames).exactOptional(),
    deny: z.array(text.min(1)).max(maxToolNames).exactOptional(),
    rename: z.record(text.min(1), toolName).exactOptional(),
    describe: z.record(text.min(1), text.min(1)).exactOptional(),
  }),
  {
    allow:
      'The only tools that are offered, or patterns with "*". All others are hidden and refused. Default: all tools.',
    deny: 'Tools that are hidden and refused, or patterns. Wins over "allow".',
    rename:
      'New names of tools: {"old": "new"}. The old name is unknown then. On /mcp the name of the server comes before it.',
    describe: 'New descriptions of tools: {"name": "text"}.',
  },
);

/** How the hub treats changed definitions of tools. */
export const pinningMode = z.enum(['warn', 'hide', 'off']);

const oauth = describeKeys(
  z.strictObject({
    client_id: text.min(1).exactOptional(),
    client_secret: text.min(1).exactOptional(),
    client_metadata_url: text.min(1).exactOptional(),
    scopes: z.array(text.min(1)).max(100).exactOptional(),
  }),
  {
    client_id:
      'Client id of the hub at the authorization server. Default: the hub registers itself.',
    client_secret: 'Secret of the client id, usually "${secret:NAME}".',
    client_metadata_url:
      'https URL of a client ID metadata document that you host. It is the client id where the authorization server supports such documents.',
    scopes: 'Scopes to request at every login, besides those that the server asks for.',
  },
);

/** Schema of a server's entry, with the defaults that do not depend on other keys. */
export const serverSchema = describeKeys(
  z.strictObject({
    description: text.optional(),
    tags: z.array(tag).default([]),
    tools: tools.exactOptional(),
    cache: keptResults.exactOptional(),
    disabled: z.boolean().optional(),
    enabled: z.boolean().optional(),
    auto_start: z.boolean().optional(),
    start: z.enum(['hub', 'call', 'manual']).optional(),
    package: text.optional(),
    with: z.array(text).max(50).default([]),
    python: pythonVersion.optional(),
    image: text.optional(),
    ...needsShape,
    command: text.min(1).optional(),
    args: z.array(text).optional(),
    env: z.record(envName, text).default({}),
    cwd: text.min(1).optional(),
    transport: z.enum(['stdio', 'http', 'sse']).optional(),
    type: z.enum(['stdio', 'http', 'sse', 'streamable-http']).optional(),
    url: text.optional(),
    headers: z.record(headerName, text).default({}),
    oauth: oauth.exactOptional(),
    runtime: z.enum(['auto', 'docker', 'process']).default('auto'),
    network: network.default('none'),
    mounts: z.array(mountInAnyForm).default([]),
    allow_sensitive: z.boolean().default(false),
    volumes: volumesInAnyForm.default([]),
    resources: resources.prefault({}),
    logs: z.enum(['bounded', 'none']).default('bounded'),
    user: user.optional(),
    restart: z.enum(['permanent', 'transient', 'temporary']).optional(),
    restart_on_failure: z.boolean().optional(),
    max_restarts: z.int().min(0).max(1000).default(3),
    health_check_interval: seconds.default(30),
    timeout: seconds.default(60),
    input_timeout: seconds.default(90),
    max_concurrent_calls: z.int().min(1).max(10_000).default(64),
    max_queued_calls: z.int().min(0).max(100_000).default(1000),
    max_notifications: z.int().min(10).max(1_000_000).default(1000),
    idle_stop: seconds.optional(),
    start_timeout: seconds.default(120),
    max_line: size.default('64m'),
    instance: z.enum(['shared', 'session']).default('shared'),
    max_instances: z.int().min(1).max(200).default(instanceDefaults.maxInstances),
    instance_idle: seconds.default(instanceDefaults.idleSeconds),
    era: z.enum(['auto', 'legacy', 'modern']).default('auto'),
    sampling: z.enum(['client', 'hub']).default('client'),
    pinning: pinningMode.exactOptional(),
  }),
  {
    description: 'What the server is for.',
    tags: 'Tags to select servers with, as in "--tags".',
    tools: 'Which tools of the server are offered, under which names and descriptions.',
    cache:
      'Keeps results of tools that only read: the same call is answered without the server. Any call of a tool that is not read-only drops them.',
    disabled: 'true: the server is never started, and its variables need not be set.',
    enabled: 'false is the same as "disabled": true.',
    auto_start:
      'true: start with the hub. false: start at the first call. Default: false in "servers", true in "mcpServers", because MCP clients start all of these.',
    start:
      '"hub": start with the hub, as "auto_start": true. "call": start at the first call, as "auto_start": false. "manual": start only by agenthub start or the dashboard; calls are refused while the server is stopped.',
    package:
      'npm package ("@org/server@1.2.3"), PyPI package ("uvx:name==1.0") or image ("docker:name:tag").',
    with: 'Additional packages of the same registry, one string each, such as "pandas==2.3.3".',
    python: "Python version for a PyPI package. Default: the version in the hub's image.",
    image: 'Container image to run.',
    ...needsDescriptions,
    command:
      'Program of a stdio server. With "image": its entrypoint. With "package": another program of the package.',
    args: 'Arguments, one string each. Required if "servers" contains "command".',
    env: 'Environment variables of the server. Values are secret: never logged or shown.',
    cwd: 'Working directory. A relative path starts at the folder of this file and may not leave it.',
    transport: 'Transport to the server. Default: "http" with "url", else "stdio".',
    type: 'MCP clients\' name for "transport".',
    url: 'URL of a remote server: http:// or https://.',
    headers: 'HTTP headers sent to "url". Values are secret: never logged or shown.',
    oauth:
      'How the hub logs in to "url" if the server asks for it (agenthub login). Not needed where the hub can register itself.',
    runtime:
      '"docker": in a container. "process": as a process on this machine, not isolated. "auto": in a container if a Docker engine is reachable, else as a process.',
    network:
      'What the container can reach. {"allow": ["api.example.com"]}: these targets, through a proxy. "bridge": every name on the network, through a proxy. "none": nothing.',
    mounts:
      'Files and folders of this machine to mount in the container: "source:target[:ro|rw]". Default: read-only.',
    allow_sensitive:
      'true: mounts may contain keys and passwords of this machine, such as ~/.ssh, ~/.aws or the home folder. Writable mounts through which a server could take over your user stay refused.',
    volumes: 'Writable named volumes in the container: {"name": "/path"}.',
    resources: 'Resource limits of the container.',
    logs: 'What "docker logs" keeps: the end of stdout and stderr up to a limit, or nothing.',
    user: 'User in the container. Default: the user of the image, or an unprivileged one if that is root.',
    restart:
      '"permanent": restart after every exit. "transient": restart only after a failure, not after exit code 0. "temporary": never restart. Default: "permanent", or "temporary" with "restart_on_failure": false.',
    restart_on_failure:
      'Short form of "restart": true is "permanent" (the default), false is "temporary". Must not contradict "restart".',
    max_restarts: 'Consecutive failures after which the hub gives up on the server.',
    health_check_interval: 'Seconds between health checks.',
    timeout: 'A call fails after this many seconds without progress.',
    input_timeout:
      'With "instance": "shared": seconds that a call waits for a client without a session to answer a request of the server. Then the call fails, because the server can ask no other client while it waits.',
    max_concurrent_calls:
      'Maximum number of calls in progress at the same time. Further calls wait.',
    max_queued_calls:
      'Maximum number of waiting calls. Further calls are refused immediately, and clients may retry them.',
    max_notifications:
      'Maximum number of notifications, progress messages and requests per second from the server. Above it, the hub reads more slowly; no message is lost.',
    idle_stop:
      'Seconds without a call after which a shared server is stopped. The next call starts it again. Default: never. For session instances, use "instance_idle".',
    start_timeout:
      'Time limit in seconds, from the start of the server until it has answered and its lists are read.',
    max_line:
      'Size limit of one message of the server, such as "64m". From 1k to 512m. A larger response fails its call.',
    instance:
      '"shared": one instance for all clients. "session": one instance per client session, and per client name and version for clients without sessions. Use "session" for servers that keep state for one client or send it requests.',
    max_instances: 'With "instance": "session": maximum number of instances at the same time.',
    instance_idle:
      'With "instance": "session": seconds without a call after which an instance is stopped.',
    era: 'MCP revisions that the hub speaks with the server. "legacy": up to 2025-11-25, with a session. "modern": from 2026-07-28, without a session. "auto": the newest that the server supports, detected once. With "url" or "instance": "session", a server that supports both eras uses the era of its client.',
    pinning:
      'What happens if the server changes a tool, prompt or its instructions while this entry stays the same. "hide": it is hidden and refused until "agenthub pins accept". "warn": it is reported. "off": nothing is compared. Default: the "pinning" of the hub, else "hide" for remote servers and packages without an exact version, and "warn" for others.',
    sampling:
      'Who answers when the server asks for a completion of a model (sampling). "client": the client, if it can. "hub": a model of the hub where the client cannot; see "models".',
  },
).meta({ id: 'server' });

export type ServerEntry = z.infer<typeof serverSchema>;

export const entryKeys: readonly string[] = Object.keys(serverSchema.shape);
