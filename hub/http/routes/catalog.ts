import type { FastifyInstance } from 'fastify';
import type { ServerCatalog, CatalogCard, CatalogSource } from '#catalog';
import type { JsonObject } from '#core';
import type { InstallJobs, InstallOption } from '#installs';
import type { RouteAdmission } from '../admission.ts';
import type { HttpSystem } from '../errors.ts';
import { administered } from '../guard.ts';
import { changing } from './audit.ts';
import { hangUpOf } from './events.ts';
import { invalid, readQuery, timeOf } from './input.ts';
import { answerWork, created } from './progress.ts';

type Needs = {
  readonly catalog: ServerCatalog;
  readonly installJobs: Pick<InstallJobs, 'install'> | undefined;
  readonly admission: Pick<RouteAdmission, 'principalOf'>;
  readonly system: HttpSystem;
};

/**
 * Adds `/catalog`: the registry of MCP servers, and installs from it. The hub contacts the registry only for these
 * requests.
 */
export function catalogRoutes(
  app: FastifyInstance,
  { catalog, installJobs, admission, system }: Needs,
): void {
  app.get('/catalog', administered, async (request, reply) => {
    const { search, cursor } = readQuery(request, ['search', 'cursor']);
    const page = await catalog.search(search ?? '', cursor, hangUpOf(reply));
    return {
      servers: page.servers.map(describeCard),
      next: page.next ?? null,
      source: describeSource(page.source, system),
    };
  });

  app.get('/catalog/server', administered, async (request, reply) => {
    const { name, version } = readQuery(request, ['name', 'version']);
    if (name === undefined) throw invalid('name: is missing: write ?name=NAME');
    const found = await catalog.get(name, version, hangUpOf(reply));
    return {
      ...describeCard(found.card),
      options: found.options.map(describeOption),
      source: describeSource(found.source, system),
    };
  });

  if (!installJobs) return;
  app.post(
    '/catalog/install',
    changing('server_install', ['server', 'version', 'name']),
    async (request, reply) => {
      const signal = hangUpOf(reply);
      using found = await catalog.requestFor(request.body, signal);
      const { request: wanted, stored } = found;
      const { name: principal } = admission.principalOf(request);
      return await answerWork(
        reply,
        system,
        async tell => ({
          ...(await installJobs.install(wanted, principal, tell, signal)),
          secrets: stored,
        }),
        created(reply),
      );
    },
  );
}

const describeCard = ({ statusMessage, updatedAt, popularity, ...card }: CatalogCard) => ({
  ...card,
  status_message: statusMessage,
  updated_at: updatedAt ?? null,
  repository: card.repository ?? null,
  website: card.website ?? null,
  popularity: popularity ?? null,
});

const describeOption = ({ kind, what, refusal, fields, wants }: InstallOption) => ({
  kind,
  what,
  refusal: refusal ?? null,
  wants,
  fields: fields.map(({ isRequired, isSecret, ...field }) => ({
    ...field,
    required: isRequired,
    secret: isSecret,
  })),
});

const describeSource = (
  { url, from, at, problem }: CatalogSource,
  { clock }: HttpSystem,
): JsonObject => ({
  url,
  from,
  fetched_at: timeOf(at),
  age_seconds: Math.max(0, Math.round((clock.now() - at) / 1_000)),
  problem: problem ?? null,
});
