import type { FastifyInstance } from 'fastify';
import { shown } from '#core';
import type { HttpNeeds } from '../http-needs.ts';
import { administered } from '../guard.ts';
import { invalid, readMembers } from './input.ts';

const members = ['client', 'method', 'server', 'tool', 'resource', 'prompt'] as const;
const kinds = ['tool', 'resource', 'prompt'] as const;

/** Adds `/policy`: the rules of the policy, and the decision that they would make about a call. */
export function policyRoutes(
  app: FastifyInstance,
  { router, servers }: Pick<HttpNeeds, 'router' | 'servers'>,
): void {
  app.get('/policy', administered, async () => ({
    rules: router.policy.rules().map(({ path, rule, calls, unknownTools }) => ({
      path,
      rule,
      calls,
      ...(unknownTools.length > 0 && { unknown_tools: unknownTools }),
    })),
  }));

  app.post('/policy/test', asking, async request => {
    const { client, method, server, ...items } = readQuestion(request.body);
    if (client === undefined) throw invalid('client: is missing: write the name of a client');
    const [item, another] = kinds.flatMap(kind => {
      const name = items[kind];
      return name === undefined ? [] : [{ kind, name }];
    });
    if (another) throw invalid('write one of "tool", "resource" and "prompt"');
    if (!item && method === undefined)
      throw invalid('tool: is missing: write "tool", "resource", "prompt" or "method"');
    const answer = router.policy.explain({
      client,
      method,
      item,
      server: server === undefined ? undefined : servers.get(server),
    });
    const { decision, text, hints, isListed, name, method: used } = answer;
    return {
      action: decision.action,
      rule: decision.rule ?? null,
      ...(text !== undefined && { text }),
      ...(decision.reason !== undefined && { reason: decision.reason }),
      client,
      method: used,
      ...(item && { [item.kind]: name, listed: isListed }),
      ...(hints && { annotations: hints }),
    };
  });
}

/** The route changes nothing, so the audit log does not record it. */
const asking = { config: { ...administered.config, change: 'none' } } as const;

function readQuestion(body: unknown) {
  const asked = readMembers(body, members);
  const found: { [member in (typeof members)[number]]?: string } = {};
  for (const name of members) {
    const value = asked[name];
    if (value === undefined) continue;
    if (typeof value !== 'string' || value === '')
      throw invalid(`${name}: ${shown(value)} is not allowed: write a string`);
    found[name] = value;
  }
  return found;
}
