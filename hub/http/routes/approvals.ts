import type { FastifyInstance } from 'fastify';
import type { Approval, Approvals, StandingApproval } from '#approvals';
import { policyNameOf } from '#policy';
import type { RouteAdmission } from '../admission.ts';
import { administered } from '../guard.ts';
import { type Identified, membersOf, readBoolean, refuseBody, timeOf } from './input.ts';

type Needs = {
  readonly approvals: Approvals;
  readonly admission: Pick<RouteAdmission, 'principalOf'>;
};

/** Options of routes whose changes are not in the audit log: approvals write their own lines to it. */
const deciding = { config: { ...administered.config, change: 'none' } } as const;

/** Adds `/approvals`: calls that wait for a person, and calls that are always approved. */
export function approvalRoutes(
  app: FastifyInstance,
  { approvals, admission: { principalOf } }: Needs,
): void {
  app.get('/approvals', administered, async () => ({
    approvals: approvals.list().map(describeApproval),
    standing: approvals.standing().map(describeStanding),
  }));

  app.post<Identified>('/approvals/:id/approve', deciding, async (request, reply) => {
    const isForGood = readAlways(request.body);
    await approvals.approve(request.params.id, policyNameOf(principalOf(request)), isForGood);
    return await reply.code(204).send();
  });

  app.post<Identified>('/approvals/:id/deny', deciding, async (request, reply) => {
    refuseBody(request.body, 'POST /approvals/{id}/deny');
    await approvals.deny(request.params.id, policyNameOf(principalOf(request)));
    return await reply.code(204).send();
  });

  app.delete<Identified>('/approvals/standing/:id', deciding, async (request, reply) => {
    refuseBody(request.body, 'DELETE /approvals/standing/{id}');
    await approvals.removeStanding(request.params.id, policyNameOf(principalOf(request)));
    return await reply.code(204).send();
  });
}

/** Reads `always` of the body: true to approve every call of the client to the tool. */
function readAlways(body: unknown): boolean {
  const { always, ...others } = membersOf(body);
  refuseBody(others, 'POST /approvals/{id}/approve, but for "always",');
  return readBoolean('always', always);
}

const describeApproval = ({ id, client, server, tool, state, ...approval }: Approval) => ({
  id,
  state: state.kind,
  client,
  server,
  tool,
  arguments: approval.shown,
  arguments_sha256: approval.hash,
  rule: approval.rule ?? null,
  reason: approval.reason ?? null,
  created_at: timeOf(approval.createdAt),
  expires_at: 'expiresAt' in state ? timeOf(state.expiresAt) : null,
  decided_by: 'by' in state ? state.by : null,
});

const describeStanding = ({ id, client, server, tool, createdAt, by }: StandingApproval) => ({
  id,
  client,
  server,
  tool,
  created_at: timeOf(createdAt),
  approved_by: by,
});
