import { type Server, type Servers, describeServer, restartNow, startNow } from '#servers';
import { z } from 'zod';
import { type BuiltinTool, defineTool, readOnly, structuredResult } from './builtin-server.ts';
import { type Recorder, recorded } from './recorded.ts';

const server = z.string().describe('The name of the server in the config of the hub.');
const defaultLines = 100;
const maxLines = 1_000;

/** Creates the tools for managing servers, for clients with the administer grant (spec 5.5). */
export function createManagementTools(
  servers: () => Pick<Servers, 'all' | 'get'>,
  record: Recorder = () => {},
): readonly BuiltinTool[] {
  /** Creates a tool that changes one server and returns its state. */
  const action = (
    verb: 'start' | 'stop' | 'restart',
    description: string,
    work: (server: Server) => Promise<void>,
  ): BuiltinTool =>
    defineTool({
      name: `${verb}_server`,
      scope: 'administer',
      title: `${verb.charAt(0).toUpperCase()}${verb.slice(1)} a server`,
      description,
      args: z.strictObject({ server }),
      annotations: {
        readOnlyHint: false,
        destructiveHint: verb !== 'start',
        idempotentHint: verb !== 'restart',
        openWorldHint: false,
      },
      async handler({ server: name }, context) {
        const found = servers().get(name);
        await recorded(record, { action: `server_${verb}`, target: name }, context, () =>
          work(found),
        );
        return { text: `${name} is ${found.status.state}`, structured: describeServer(found) };
      },
    });

  return [
    defineTool({
      name: 'list_servers',
      scope: 'administer',
      title: 'List the servers of this hub',
      description: 'Lists the servers behind this hub, with their states and the last errors.',
      args: z.strictObject({}),
      annotations: readOnly,
      handler: async () => structuredResult({ servers: servers().all.map(describeServer) }),
    }),
    action(
      'start',
      'Starts a server, even if it was stopped by hand or has failed, and waits until it answers.',
      startNow,
    ),
    action(
      'stop',
      'Stops a server. Calls do not start it again: start_server does.',
      async found => await found.stop(true),
    ),
    action(
      'restart',
      'Stops a server, starts it again and waits until it answers. Calls in flight fail.',
      restartNow,
    ),
    defineTool({
      name: 'server_logs',
      scope: 'administer',
      title: "Read a server's log",
      description: 'Returns the last lines that a server wrote to stderr.',
      args: z.strictObject({
        server,
        lines: z
          .int()
          .min(1)
          .max(maxLines)
          .default(defaultLines)
          .describe('Maximum number of lines.'),
      }),
      annotations: readOnly,
      async handler({ server: name, lines: limit }) {
        const kept = servers().get(name).stderr();
        const lines = kept === '' ? [] : kept.split('\n').slice(-limit);
        return {
          text: lines.length === 0 ? `${name} has written nothing to stderr` : lines.join('\n'),
          structured: { server: name, lines },
        };
      },
    }),
  ];
}
