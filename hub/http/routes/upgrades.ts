import type { FastifyInstance } from 'fastify';
import { shown } from '#core';
import type { HttpSystem } from '../errors.ts';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { changing } from './audit.ts';
import { hangUpOf } from './events.ts';
import { invalid, type Named, readBoolean, readMembers, refuseBody } from './input.ts';
import { answerWork } from './progress.ts';

type Needs = {
  readonly upgrades: NonNullable<HttpNeeds['hub']['upgrades']>;
  readonly system: HttpSystem;
};

/** Adds `/upgrades`: other versions of the packages of servers; and the removal of unused images. */
export function upgradeRoutes(app: FastifyInstance, { upgrades, system }: Needs): void {
  // Restricted, because the hub contacts the package registries.
  app.get('/upgrades', administered, async (_request, reply) => ({
    servers: await upgrades.outdated(hangUpOf(reply)),
  }));

  app.post<Named>(
    '/servers/:name/upgrade',
    changing('server_upgrade', ['version', 'dry_run']),
    async (request, reply) => {
      const wanted = { name: request.params.name, ...readUpgrade(request.body) };
      const signal = hangUpOf(reply);
      return await answerWork(reply, system, tell => upgrades.upgrade(wanted, tell, signal));
    },
  );

  app.post<Named>(
    '/servers/:name/rollback',
    changing('server_rollback'),
    async (request, reply) => {
      refuseBody(request.body, 'POST /servers/{name}/rollback');
      const { name } = request.params;
      const signal = hangUpOf(reply);
      return await answerWork(reply, system, tell => upgrades.rollback(name, tell, signal));
    },
  );

  app.post('/prune', changing('images_pruned', ['dry_run']), async request => {
    const { dry_run: dry } = readMembers(request.body, ['dry_run']);
    return await upgrades.prune({ isDry: readBoolean('dry_run', dry) });
  });
}

/** Reads the members of a body. Throws HUB_REQUEST_INVALID. */
function readUpgrade(body: unknown) {
  const { version, accept, dry_run: dry } = readMembers(body, ['version', 'accept', 'dry_run']);
  return {
    version: readText('version', version),
    accept: readText('accept', accept),
    isDry: readBoolean('dry_run', dry),
  };
}

/** Maximum length in characters, above that of any version or digest. */
const maxText = 200;

function readText(name: string, value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && value.length <= maxText)) return value;
  throw invalid(`${name}: ${shown(value)} is not allowed: write a string`);
}
