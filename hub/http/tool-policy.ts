import type { FastifyReply, FastifyRequest } from 'fastify';
import { builtinNameOf } from '#config';
import { HubError } from '#core';
import { type Principal, policyNameOf } from '#policy';
import type { RouteAdmission } from './admission.ts';
import type { HttpNeeds } from './http-needs.ts';

/** A tool of a built-in server, by its server's own name. */
type BuiltinTool = { readonly server: string; readonly tool: string };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The tool that does what the route does. The policy decides about both alike. */
    readonly sameAs?: BuiltinTool;
  }
}

/** Returns the options of a route that does what a tool of a built-in server does. `action`: its name in the audit log. */
export const sameAs = (server: string, tool: string, action?: string) =>
  ({
    config: {
      sameAs: { server, tool },
      // Without members: a caller could fill the log with them.
      change: action === undefined ? 'none' : { action },
    },
  }) as const;

/**
 * Creates the check of routes that do what a tool does. Callers who administer the hub may use every route, and have no
 * limits there.
 */
export function createToolPolicy(
  {
    router,
    servers,
    hub,
    access,
    system,
  }: Pick<HttpNeeds, 'router' | 'servers' | 'hub' | 'access' | 'system'>,
  { principalOf, recordRefusal }: Pick<RouteAdmission, 'principalOf' | 'recordRefusal'>,
) {
  const isOfConfig = (name: string) => {
    const found = servers.find(name);
    return found !== undefined && found.isBuiltin !== true;
  };

  /** True for a rule about hints. A tool that is not offered has none, and its route then offers nothing. */
  const isByHints = (rule: string | undefined) =>
    router.policy.rules().some(one => one.path === rule && 'annotations' in one.rule);

  function denialOf(request: FastifyRequest): HubError | undefined {
    const { sameAs: same } = request.routeOptions.config;
    if (!same) return undefined;
    const { server, tool } = same;
    const principal = principalOf(request);
    if (principal.grants.administer) return undefined;
    const client = policyNameOf(principal);
    const {
      decision,
      name = tool,
      isListed,
    } = router.policy.explain({
      client,
      server: servers.find(builtinNameOf(server, isOfConfig)),
      item: { kind: 'tool', name: tool },
    });
    const { action, rule, reason } = decision;
    if (!isListed && isByHints(rule)) return undefined;
    const data = { rule, ...(reason !== undefined && { reason }) };
    if (action === 'deny') {
      const why = reason === undefined ? '' : `: ${reason}`;
      const message = `policy denies the tool ${JSON.stringify(name)} to ${client}${why}`;
      return new HubError('HUB_POLICY_DENIED', message, { data });
    }
    if (action !== 'confirm') return undefined;
    const why = reason === undefined ? '' : ` (${reason})`;
    const message = `a person has to approve each call of ${name}${why}. Call the tool over MCP, which asks a person, or let the owner of the hub send this request`;
    return new HubError('HUB_APPROVAL_NEEDED', message, { data });
  }

  /** Counts a request as a call in the list of clients (`GET /clients`). */
  const record = (principal: Principal, isRefused: boolean): void =>
    access?.clients?.record(principal, isRefused, system.clock.now());

  return {
    /**
     * Throws HUB_POLICY_DENIED or HUB_APPROVAL_NEEDED for a request to a route whose tool its caller may not call, or
     * not without an approval.
     */
    require(request: FastifyRequest): void {
      const denial = denialOf(request);
      if (!denial) return;
      recordRefusal(request, { status: 403, message: denial.message });
      record(principalOf(request), true);
      throw denial;
    },
    /**
     * Counts a request to such a route as a call of its caller, until the answer has ended. Rejects with
     * HUB_LIMIT_REACHED.
     */
    async count(request: FastifyRequest, { raw }: FastifyReply): Promise<void> {
      if (!request.routeOptions.config.sameAs) return;
      const principal = principalOf(request);
      if (principal.grants.administer) return record(principal, false);
      let leave: (() => void) | undefined;
      try {
        leave = await hub.countRequest?.(principal);
      } catch (error) {
        record(principal, true);
        throw error;
      }
      record(principal, false);
      if (!leave) return;
      if (raw.destroyed) leave();
      else raw.once('close', leave);
    },
    /** True if `require` admits the request now. A reload can change that while the request is answered. */
    allows: (request: FastifyRequest): boolean => denialOf(request) === undefined,
  };
}
