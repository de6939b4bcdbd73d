import type { FastifyInstance } from 'fastify';
import { type InstallJobs, type Installs, readInstallBody, readTrialBody } from '#installs';
import { type Server, describeListing, describeServer, restartNow, startNow } from '#servers';
import type { RouteAdmission } from '../admission.ts';
import type { HttpSystem } from '../errors.ts';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { changing } from './audit.ts';
import { type Follow, hangUpOf, wantsEvents } from './events.ts';
import { type Named, readFlag, readQuery, refuseBody, snakeCased } from './input.ts';
import { answerWork, created } from './progress.ts';

/** Adds `/servers`: the servers with their states, and start, stop and restart. */
export function serverRoutes(
  app: FastifyInstance,
  { servers, router }: Pick<HttpNeeds, 'servers' | 'router'>,
): void {
  app.get('/servers', async () => ({
    servers: servers.all.map(describeServer),
    collisions: router.collisions(),
  }));

  app.get<Named>('/servers/:name', async request => {
    const server = servers.get(request.params.name);
    const { running } = server;
    const usage = await running?.instance.usage().catch(() => undefined); // Shown without figures.
    const kept = await router.keptResults(server);
    return {
      ...describeServer(server),
      ...describeListing(server),
      ...(kept && { kept_results: kept }),
      // The usage of processes is unknown, and that of containers too if the engine does not answer.
      ...(running && { usage: usage ? snakeCased(usage) : null }),
    };
  });

  const act = (action: string, work: (server: Server) => Promise<unknown>): void => {
    app.post<Named>(`/servers/:name/${action}`, changing(`server_${action}`), async request => {
      const server = servers.get(request.params.name);
      refuseBody(request.body, `POST /servers/{name}/${action}`);
      await work(server);
      return describeServer(server);
    });
  };

  act('start', startNow);
  act('stop', server => server.stop(true));
  act('restart', restartNow);
}

type LogNeeds = Pick<HttpNeeds, 'servers' | 'telemetry'> & { readonly follow: Follow };

/** Maximum number of lines in an event. The newest are sent, with the number of dropped ones. */
const maxLines = 500;

/** Adds `/servers/{name}/logs`: the newest stderr lines of a server, and a stream of new lines. */
export function logRoutes(app: FastifyInstance, { servers, follow, telemetry }: LogNeeds): void {
  app.get<Named>('/servers/:name/logs', administered, async (request, reply) => {
    const { follow: wanted } = readQuery(request, ['follow']);
    const server = servers.get(request.params.name);
    const kept = server.stderr();
    let lines = kept === '' ? [] : kept.split('\n');
    if (!readFlag('follow', wanted) && !wantsEvents(request))
      return { name: server.config.name, lines };
    let dropped = 0;
    return follow(reply, {
      listen: changed =>
        server.wrote(line => {
          lines.push(line);
          if (lines.length > maxLines) {
            lines.shift();
            dropped++;
          }
          changed();
        }),
      until: over =>
        servers.removed(removed => {
          if (removed === server) over();
        }),
      tell(events) {
        const redacted = { lines: lines.map(telemetry.redact) };
        if (lines.length > 0)
          events.send('lines', { ...redacted, ...(dropped > 0 && { dropped }) });
        lines = [];
        dropped = 0;
      },
    });
  });
}

type InstallNeeds = {
  readonly system: HttpSystem;
  readonly installs: Pick<Installs, 'remove' | 'trial'>;
  readonly installJobs: Pick<InstallJobs, 'install'>;
  readonly admission: Pick<RouteAdmission, 'principalOf'>;
};

/** Adds `POST /servers/install`, `POST /servers/try` and `DELETE /servers/{name}` (spec 1.6). */
export function installRoutes(app: FastifyInstance, needs: InstallNeeds): void {
  app.post(
    '/servers/install',
    changing('server_install', ['name', 'package']),
    async (request, reply) => {
      const wanted = await readInstallBody(request.body);
      const signal = hangUpOf(reply);
      const { name: principal } = needs.admission.principalOf(request);
      return await answerWork(
        reply,
        needs.system,
        tell => needs.installJobs.install(wanted, principal, tell, signal),
        created(reply),
      );
    },
  );

  // Not a job: the entry may contain keys, which no file of the hub may store.
  app.post('/servers/try', changing('server_try', ['name']), async (request, reply) => {
    const wanted = await readTrialBody(request.body);
    const signal = hangUpOf(reply);
    return await answerWork(reply, needs.system, tell =>
      needs.installs.trial(wanted, tell, signal),
    );
  });

  app.delete<Named>('/servers/:name', changing('server_remove', ['purge']), async request => {
    const { purge } = readQuery(request, ['purge']);
    refuseBody(request.body, 'DELETE /servers/{name}');
    return await needs.installs.remove(request.params.name, { purge: readFlag('purge', purge) });
  });
}
