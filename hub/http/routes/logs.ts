import type { FastifyInstance } from 'fastify';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { type Follow, wantsEvents } from './events.ts';
import { readFlag, readQuery } from './input.ts';

type Needs = Pick<HttpNeeds, 'servers' | 'telemetry'> & { readonly follow: Follow };

/** An event contains the newest lines, up to this number, and the number of dropped ones. */
const maxTold = 500;

/** `/servers/{name}/logs`: the newest stderr lines of a server, and a stream of new ones. */
export function logRoutes(app: FastifyInstance, { servers, follow, telemetry }: Needs): void {
  app.get<{ Params: { name: string } }>(
    '/servers/:name/logs',
    administered,
    async (request, reply) => {
      const { follow: wanted } = readQuery(request, ['follow']);
      const server = servers.get(request.params.name);
      const kept = server.stderr();
      const lines = kept === '' ? [] : kept.split('\n');
      if (!readFlag('follow', wanted) && !wantsEvents(request))
        return { name: server.config.name, lines };
      let waiting = lines;
      let dropped = 0;
      return follow(reply, {
        listen: changed =>
          server.wrote(line => {
            waiting.push(line);
            if (waiting.length > maxTold) {
              waiting.shift();
              dropped++;
            }
            changed();
          }),
        until: over =>
          servers.removed(removed => {
            if (removed === server) over();
          }),
        tell(events) {
          if (waiting.length > 0)
            events.send('lines', {
              lines: waiting.map(telemetry.redact),
              ...(dropped > 0 && { dropped }),
            });
          waiting = [];
          dropped = 0;
        },
      });
    },
  );
}
