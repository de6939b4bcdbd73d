/** Files with branches that have no test of their own name, below the test that covers them. */
export const coveredBy: Readonly<Record<string, readonly string[]>> = {
  'audit/audit': [
    'audit/body',
    'audit/chain',
    'audit/files',
    'audit/folder',
    'audit/pages',
    'audit/read',
    'audit/verify',
  ],
  'cache/redis-cache': ['cache/redis-client'],
  'cli/main': ['main'],
  'faults/audit-disk': ['routing/steps/audit'],
  'system/audit': ['app/wire-audit', 'http/routes/audit'],
  'system/egress-forwarder': [
    'runtimes/docker/egress/container',
    'runtimes/docker/egress/egress',
    'runtimes/docker/egress/forwarder',
  ],
  'routing/access': [
    'routing/access-source',
    'routing/item-decisions',
    'routing/methods/one-server',
    'routing/events/access-changes',
  ],
  'enhance/alike': ['enhance/explanation', 'enhance/term-forms'],
  'enhance/alignment': [
    'enhance/left-over',
    'enhance/moves',
    'enhance/placement',
    'enhance/request-parts',
    'enhance/spot-pairs',
    'enhance/spots',
  ],
  'system/fleet': ['app/wire-servers'],
  'system/lifecycle': ['app/app'],
  'system/observability': ['app/wire-observers'],
};
