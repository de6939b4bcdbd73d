import type { FastifyInstance } from 'fastify';
import { shown } from '#core';
import type { PinReport, DefinitionPins } from '#definitions';
import { administered } from '../guard.ts';
import { changing } from './audit.ts';
import { invalid, type Named, readMembers } from './input.ts';

/** Adds `/pins`: the pinned definitions of servers, their deviations, and decisions about them. */
export function pinRoutes(app: FastifyInstance, pins: DefinitionPins): void {
  app.get('/pins', administered, async () => ({
    file: pins.file,
    error: pins.fault() ?? null,
    servers: pins.reports().map(described),
    orphans: [...pins.orphans()],
  }));

  app.get<Named>('/pins/:name', administered, async ({ params }) =>
    described(pins.report(params.name)),
  );

  app.post<Named>('/pins/:name/accept', changing('pins_accepted', ['name']), async request =>
    pins.decide('accept', request.params.name, readChoice(request.body)),
  );

  app.post<Named>('/pins/:name/reject', changing('pins_rejected', ['name']), async request =>
    pins.decide('reject', request.params.name, readChoice(request.body)),
  );
}

const described = ({ pinned, deviations, ...report }: PinReport) => ({
  ...report,
  pinned: pinned ?? null,
  deviations: deviations.map(({ isHidden, ...one }) => ({ ...one, hidden: isHidden })),
});

/** Reads the names and hashes in a body. Throws HUB_REQUEST_INVALID. */
function readChoice(body: unknown) {
  const { name, hashes } = readMembers(body, ['name', 'hashes']);
  if (name !== undefined && typeof name !== 'string')
    throw invalid(`name: ${shown(name)} is not allowed: write a string`);
  if (hashes === undefined) return { name };
  const texts = Array.isArray(hashes) ? hashes.filter(one => typeof one === 'string') : [];
  if (!Array.isArray(hashes) || texts.length !== hashes.length)
    throw invalid('hashes: write a list of the hashes that GET /pins shows');
  return { name, hashes: texts };
}
