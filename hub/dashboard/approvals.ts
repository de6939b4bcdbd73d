import type { Approval, StandingApproval } from '#approvals';
import { policyNameOf } from '#policy';
import { answerOf, noticeOf } from './actions.ts';
import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { ago, counted } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';
import {
  actionButton,
  badge,
  breakable,
  countBadge,
  empty,
  failed,
  fragment,
  heading,
  table,
} from './pieces.ts';

type Needs = Pick<PageNeeds, 'system'> & {
  readonly hub: Pick<PageNeeds['hub'], 'approvals'>;
};

const nowhere = failed(409, 'Not here', 'This hub keeps no approvals.');

/** Creates the page of waiting calls and standing approvals, and the badge with the number of waiting calls. */
export function approvalPages({ hub: { approvals }, system: { clock } }: Needs) {
  function parts(): Html {
    const now = clock.now();
    const all = approvals?.list() ?? [];
    const content = html`<section aria-labelledby="waiting"><h2 id="waiting">Waiting for you</h2>
${waitingPart(all.filter(isWaiting), now)}</section>
<section aria-labelledby="decided"><h2 id="decided">Decided</h2>
${decidedPart(
  all.filter(one => !isWaiting(one)),
  now,
)}</section>
<section aria-labelledby="standing"><h2 id="standing">Approved for good</h2>
${standingPart(approvals?.standing() ?? [], now)}</section>`;
    return fragment('approval-list', '/dashboard/approvals-partial', content, 'approvals');
  }

  const act =
    (
      done: 'approve' | 'approve-always' | 'deny' | 'approval-remove',
      work: (id: string, by: string) => Promise<void> | undefined,
    ) =>
    async (request: DashboardRequest): Promise<DashboardAnswer> => {
      if (!approvals) return nowhere;
      const id = request.param('id');
      await work(id, policyNameOf(request.principal()));
      return answerOf(request, { done, about: id, page: paths.approvals });
    };

  return {
    /** Returns the badge of the navigation; nothing for visitors who may not decide. */
    badgeFor: ({ visitor }: DashboardRequest): Content =>
      approvals && visitor.rights === 'owner' && waitingBadge(approvals.waiting),
    handlers: {
      async approvals(request) {
        const main = html`${heading('Approvals')}
<p class="lead">Calls that a rule of the policy lets a person confirm. A yes counts for exactly these arguments.</p>
${parts()}`;
        const notice = noticeOf(request);
        return {
          page: { title: 'Approvals', at: 'approvals', main, events: paths.events, notice },
        };
      },
      approvalsPartial: async () => ({ part: parts() }),
      approvalsBadge: async () => ({ part: waitingBadge(approvals?.waiting ?? 0) }),
      approve: act('approve', (id, by) => approvals?.approve(id, by)),
      approveAlways: act('approve-always', (id, by) => approvals?.approve(id, by, true)),
      deny: act('deny', (id, by) => approvals?.deny(id, by)),
      removeApproval: act('approval-remove', (id, by) => approvals?.removeStanding(id, by)),
    } satisfies Handlers,
  };
}

const isWaiting = ({ state }: Approval): boolean => state.kind === 'pending';

const waitingBadge = (waiting: number): Html =>
  countBadge({ id: 'approvals-badge', path: paths.approvalsBadge, event: 'approvals', waiting });

function waitingPart(waiting: readonly Approval[], now: number): Html {
  if (waiting.length === 0)
    return empty(
      'No call waits.',
      html`<p>A rule with <code>"action": "confirm"</code> in <code>policy</code> of the config makes calls wait here.</p>`,
    );
  return html`<p class="note">${counted(waiting.length, 'call')}. Those that nobody decides about expire.</p>${table(
    'Calls that wait',
    waiting,
    [
      [
        'Call',
        ({ tool, reason }) =>
          html`<code>${breakable(tool)}</code>${reason !== undefined && html` <span class="note">${reason}</span>`}`,
      ],
      ['Client', ({ client }) => client],
      ['Arguments', ({ shown }) => html`<code>${shown}</code>`],
      ['Asked', ({ createdAt }) => ago(createdAt, now)],
      ['Decide', buttonsOf],
    ],
  )}`;
}

function buttonsOf({ id, tool, client }: Approval): Content {
  const about = `the call ${id} of ${tool} by ${client}`;
  return html`<div class="actions">${actionButton({ label: 'Approve once', path: paths.action('approve', id), id: `approve-${id}`, about })}
${actionButton({ label: 'Always', path: paths.action('approve-always', id), id: `always-${id}`, about: `for ${client} and ${tool}` })}
${actionButton({ label: 'Deny', path: paths.action('deny', id), id: `deny-${id}`, about, tone: 'danger' })}</div>`;
}

function decidedPart(decided: readonly Approval[], now: number): Html {
  if (decided.length === 0)
    return html`<p class="note">No decided calls wait for their client.</p>`;
  return table('Decided calls', decided, [
    ['Call', ({ tool }) => html`<code>${breakable(tool)}</code>`],
    ['Client', ({ client }) => client],
    ['Arguments', ({ shown }) => html`<code>${shown}</code>`],
    ['Decision', ({ state }) => badge(state.kind === 'denied' ? 'bad' : 'good', state.kind)],
    ['By', ({ state }) => ('by' in state ? state.by : '')],
    ['Asked', ({ createdAt }) => ago(createdAt, now)],
    ['Change', changeOf],
  ]);
}

const changeOf = ({ id, tool, state }: Approval): Content =>
  state.kind === 'approved' &&
  actionButton({
    label: 'Deny',
    path: paths.action('deny', id),
    id: `deny-${id}`,
    about: `the call ${id} of ${tool}`,
    tone: 'danger',
  });

function standingPart(standing: readonly StandingApproval[], now: number): Html {
  if (standing.length === 0) return html`<p class="note">Nothing is approved for good.</p>`;
  return table('Standing approvals', standing, [
    ['Tool', ({ tool }) => html`<code>${breakable(tool)}</code>`],
    ['Client', ({ client }) => client],
    ['Approved by', ({ by }) => by],
    ['Since', ({ createdAt }) => ago(createdAt, now)],
    [
      'Change',
      ({ id, tool, client }) =>
        actionButton({
          label: 'Remove',
          path: paths.action('approval-remove', id),
          id: `remove-${id}`,
          about: `the approval of ${tool} for ${client}`,
          tone: 'danger',
        }),
    ],
  ]);
}
