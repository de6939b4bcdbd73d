import { z } from 'zod';
import { instanceDefaults } from './instance-defaults.ts';
import { sizePattern } from './size.ts';

/** One day. Node's timers overflow after 24.8 days. */
const maxSeconds = 86_400;

const seconds = z.number().min(1).max(maxSeconds);
/** A string that can be passed to the system: no NUL characters. */
export const text = z
  .string()
  .refine(value => !value.includes('\0'), 'write it without NUL characters');
const size = z.union(
  [z.int().min(1), z.string().regex(sizePattern, 'write a size such as "512m", "2g" or 1048576')],
  'write a size such as "512m", "2g" or 1048576 (bytes)',
);

/** Name of a server. It becomes part of container names, tool names and URLs. */
export const serverName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$/,
    'a server name has 1 to 32 letters, digits, "_" and "-", and starts with a letter or digit',
  );
const envName = z
  .string()
  .regex(/^[^=\0]+$/, 'the name of a variable is not empty and holds no "="');
const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'the name of a header has letters, digits and "-"');
const volumeName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/,
    'the name of a volume has letters, digits, "_", "." and "-", and starts with a letter or digit',
  );

/** A bind mount in object form. */
export const mount = z.strictObject({
  source: text.describe(
    'File or folder on this machine. Relative to the folder of this file; "~" is the home folder.',
  ),
  target: text.describe('Absolute path in the container.'),
  read_only: z.boolean().default(true).describe('false lets the server write there.'),
});

/** A named volume in object form. */
export const volume = z.strictObject(
  {
    name: volumeName.describe('Kept when the container goes, and shared by servers that name it.'),
    target: text.describe('Absolute path in the container.'),
  },
  {
    error: ({ code }) =>
      code === 'invalid_type'
        ? 'write {"name": "/path"} in place of the list, or an object with "name" and "target"'
        : undefined,
  },
);

/** Resource limits of a container. */
export const resources = z.strictObject({
  memory: size.default('512m').describe('Most memory, such as "512m". At least 6m.'),
  cpus: z.number().min(0.01).max(1024).default(1).describe('Processor cores, such as 0.5.'),
  pids: z.int().min(1).max(4_194_304).default(256).describe('Most processes and threads.'),
  scratch: size
    .default('64m')
    .describe(
      'Room in each of /tmp, the home folder and the empty folders that the image declares as volumes; gone when the server ends, and counted as memory.',
    ),
  volumes: size
    .default('10g')
    .describe(
      'Most that the volumes of the server hold together, such as "2g". A server that writes more is stopped.',
    ),
});

/** Schema of a server entry, with the defaults that do not depend on other keys. */
export const serverSchema = z
  .strictObject({
    description: text.optional().describe('What the server is for.'),
    tags: z.array(text.min(1)).default([]).describe('Words to choose servers by.'),
    disabled: z
      .boolean()
      .optional()
      .describe('true: never started, and the variables it names need not be set.'),
    enabled: z.boolean().optional().describe('false is the same as "disabled": true.'),
    auto_start: z
      .boolean()
      .optional()
      .describe(
        'Start with the hub, not at the first call. Default: false in "servers", true in "mcpServers", whose servers clients start all.',
      ),
    package: text
      .optional()
      .describe(
        'npm package ("@org/server@1.2.3"), PyPI package ("uvx:name==1.0") or image ("docker:name:tag").',
      ),
    with: z
      .array(text)
      .max(50)
      .default([])
      .describe(
        'Packages of the same registry that are installed beside "package", one string each, such as "pandas==2.3.3".',
      ),
    python: z
      .string()
      .regex(/^3\.\d{1,2}(?:\.\d{1,2})?$/, 'write a version such as "3.12"')
      .optional()
      .describe("Version of Python that a PyPI package runs on. Default: that of the hub's image."),
    image: text.optional().describe('Container image to run as it is.'),
    command: text
      .min(1)
      .optional()
      .describe(
        'Program of a stdio server; in an image, its entrypoint; with "package", another program of it.',
      ),
    args: z
      .array(text)
      .optional()
      .describe('Arguments, one string each. Required with "command" in "servers".'),
    env: z
      .record(envName, text)
      .default({})
      .describe('Environment of the server. Values are secret: never logged or shown.'),
    cwd: text
      .min(1)
      .optional()
      .describe('Working directory. Relative to the folder of this file, and not outside it.'),
    transport: z
      .enum(['stdio', 'http', 'sse'])
      .optional()
      .describe('How the hub talks to the server. Default: "http" with "url", else "stdio".'),
    type: z
      .enum(['stdio', 'http', 'sse', 'streamable-http'])
      .optional()
      .describe('The same as "transport", as clients write it.'),
    url: text.optional().describe('Address of a server that runs elsewhere: http:// or https://.'),
    headers: z
      .record(headerName, text)
      .default({})
      .describe('HTTP headers sent to "url". Values are secret: never logged or shown.'),
    runtime: z
      .enum(['auto', 'docker', 'process'])
      .default('auto')
      .describe(
        '"docker": a container of its own. "process": on this machine, not isolated. "auto": a container where a Docker engine answers.',
      ),
    network: z
      .enum(['none', 'bridge'])
      .default('none')
      .describe('"bridge" lets the container reach the network, on a network of its own.'),
    mounts: z
      .array(z.union([text, mount], 'write "source:target", "source:target:rw" or an object'))
      .default([])
      .describe(
        'Folders of this machine in the container: "source:target[:ro|rw]", read-only unless said.',
      ),
    allow_sensitive: z
      .boolean()
      .default(false)
      .describe(
        'true: its mounts may be or hold keys and passwords of this machine, such as ~/.ssh, ~/.aws or the home folder. They stay refused for writing where a server could take over your user.',
      ),
    volumes: z
      .union(
        [z.record(volumeName, text), z.array(volume)],
        'write {"name": "/path"} or a list of {"name", "target"}',
      )
      .default([])
      .describe('Named volumes in the container, writable: {"name": "/path"}.'),
    resources: resources.prefault({}).describe('Most that the container may use.'),
    logs: z
      .enum(['bounded', 'none'])
      .default('bounded')
      .describe('What "docker logs" keeps: a bounded end of stdout and stderr, or nothing.'),
    user: z
      .union(
        [
          z.int().min(0),
          z
            .string()
            .regex(/^[\w][\w.-]*(:[\w][\w.-]*)?$/, 'write a user such as "1000" or "1000:1000"'),
        ],
        'write a user such as "1000" or "1000:1000"',
      )
      .optional()
      .describe(
        "User in the container. Default: the image's own, or an unprivileged one where that is root.",
      ),
    restart: z
      .enum(['permanent', 'transient', 'temporary'])
      .optional()
      .describe(
        '"permanent": started again whenever it ends. "transient": only when it failed, not when it ended by itself with exit code 0. "temporary": never. Default: "permanent", or "temporary" with "restart_on_failure": false.',
      ),
    restart_on_failure: z
      .boolean()
      .optional()
      .describe(
        'The short form of "restart": true is "permanent" (the default), false is "temporary". Not to be said beside a "restart" that says otherwise.',
      ),
    max_restarts: z
      .int()
      .min(0)
      .max(1000)
      .default(3)
      .describe('Failures in a row before it is given up.'),
    health_check_interval: seconds.default(30).describe('Seconds between health checks.'),
    timeout: seconds.default(60).describe('Seconds without progress after which a call fails.'),
    input_timeout: seconds
      .default(90)
      .describe(
        'With "instance": "shared", seconds that a call waits for a client without a session to come back with what the server asked it. The call is ended then: while it waits, no other client can be asked.',
      ),
    max_concurrent_calls: z
      .int()
      .min(1)
      .max(10_000)
      .default(64)
      .describe('Most calls that the server works on at once; more wait.'),
    max_queued_calls: z
      .int()
      .min(0)
      .max(100_000)
      .default(1000)
      .describe(
        'Most calls that wait for their turn; more are refused at once, to be tried again.',
      ),
    max_notifications: z
      .int()
      .min(10)
      .max(1_000_000)
      .default(1000)
      .describe(
        'Most notifications, progress and requests a second that the server sends; one that sends more is read no faster, and nothing of it is lost.',
      ),
    idle_stop: seconds
      .optional()
      .describe(
        'Seconds without a call after which a shared server is stopped; the next call starts it again. Default: never. Instances of sessions have "instance_idle".',
      ),
    start_timeout: seconds
      .default(120)
      .describe('Seconds from the start until the server has answered and its lists are read.'),
    max_line: size
      .default('64m')
      .describe(
        'Longest message of the server, such as "64m". From 1k to 512m; a longer one fails its call.',
      ),
    instance: z
      .enum(['shared', 'session'])
      .default('shared')
      .describe(
        '"session": an instance of its own for each session of a client, and for each name and version of clients without sessions, for servers that keep something for one client or ask it something. "shared": one for all.',
      ),
    max_instances: z
      .int()
      .min(1)
      .max(200)
      .default(instanceDefaults.maxInstances)
      .describe('With "instance": "session", most instances at once.'),
    instance_idle: seconds
      .default(instanceDefaults.idleSeconds)
      .describe(
        'With "instance": "session", seconds without a call after which an instance is stopped.',
      ),
    era: z
      .enum(['auto', 'legacy', 'modern'])
      .default('auto')
      .describe(
        'Revisions of MCP that the hub speaks to the server: "legacy" up to 2025-11-25, with a session; "modern" from 2026-07-28 on, without. "auto": the newest that the server speaks, found out once; a server of both eras speaks that of its client where it has a "url" or "instance": "session".',
      ),
  })
  .meta({ id: 'server' });

/** A server entry, parsed. */
export type ServerEntry = z.infer<typeof serverSchema>;

/** All keys of a server entry. */
export const entryKeys: readonly string[] = Object.keys(serverSchema.shape);
