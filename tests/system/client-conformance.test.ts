import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type ClientHub, startClientHub } from '#fixtures/conformance/client-hub';
import {
  type ClientSuite,
  clientScenarios,
  startClientSuite,
} from '#fixtures/conformance/client-suite';

/** Scenarios for clients that the hub has to pass, by revision. The suite also has those listed below. */
const played = [
  ['initialize', '2025-11-25'],
  ['tools_call', '2025-11-25'],
  ['elicitation-sep1034-client-defaults', '2025-11-25'],
  ['sse-retry', '2025-11-25'],
  ['json-schema-2020-12-preservation', '2025-11-25'],
  ['tools_call', '2026-07-28'],
  ['request-metadata', '2026-07-28'],
  ['sep-2322-client-request-state', '2026-07-28'],
  ['http-standard-headers', '2026-07-28'],
  ['http-custom-headers', '2026-07-28'],
  ['http-invalid-tool-headers', '2026-07-28'],
  ['json-schema-ref-no-deref', '2026-07-28'],
  ['json-schema-2020-12-preservation', '2026-07-28'],
  ['auth/metadata-default', '2025-11-25'],
  ['auth/metadata-var1', '2025-11-25'],
  ['auth/metadata-var2', '2025-11-25'],
  ['auth/metadata-var3', '2025-11-25'],
  ['auth/basic-cimd', '2025-11-25'],
  ['auth/scope-from-www-authenticate', '2025-11-25'],
  ['auth/scope-from-scopes-supported', '2025-11-25'],
  ['auth/scope-omitted-when-undefined', '2025-11-25'],
  ['auth/scope-step-up', '2025-11-25'],
  ['auth/scope-retry-limit', '2025-11-25'],
  ['auth/token-endpoint-auth-basic', '2025-11-25'],
  ['auth/token-endpoint-auth-post', '2025-11-25'],
  ['auth/token-endpoint-auth-none', '2025-11-25'],
  ['auth/pre-registration', '2025-11-25'],
  ['auth/2025-03-26-oauth-metadata-backcompat', '2025-03-26'],
  ['auth/2025-03-26-oauth-endpoint-fallback', '2025-03-26'],
  ['auth/resource-mismatch', '2026-07-28'],
  ['auth/offline-access-scope', '2026-07-28'],
  ['auth/offline-access-not-supported', '2026-07-28'],
  ['auth/authorization-server-migration', '2026-07-28'],
  ['auth/iss-supported', '2026-07-28'],
  ['auth/iss-not-advertised', '2026-07-28'],
  ['auth/iss-supported-missing', '2026-07-28'],
  ['auth/iss-wrong-issuer', '2026-07-28'],
  ['auth/iss-unexpected', '2026-07-28'],
  ['auth/iss-normalized', '2026-07-28'],
  ['auth/metadata-issuer-mismatch', '2026-07-28'],
] as const;

/** Scenarios of an extension for hosts: the hub neither loads skills nor checks their content. */
const ofHosts = [
  'sep-2640-client-no-prefetch',
  'sep-2640-client-verify-digest',
  'sep-2640-client-verify-size',
  'sep-2640-client-verify-frontmatter',
];
/** Scenarios of extensions that the hub lacks: authorization without a person, and tokens that are bound to keys. */
const ofOtherGrants = [
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/enterprise-managed-authorization',
  'auth/dpop',
  'auth/dpop-nonce',
  'auth/wif-jwt-bearer',
];

/** Number of scenarios that run at once. Each has a server and clients. */
const atOnce = 2;

describe("the hub's outbound side", () => {
  let hub: ClientHub;
  let suite: ClientSuite;
  beforeAll(async () => {
    hub = await startClientHub();
    suite = startClientSuite(hub, atOnce);
  });
  afterAll(async () => {
    await suite?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });

  test.concurrent.for(played)(
    'passes %s of %s',
    { timeout: 240_000 },
    async ([scenario, revision]) => {
      const { passed, problems, exitCode, output } = await suite.run(scenario, revision);
      assert.deepEqual(problems, [], output);
      assert.ok(passed > 0, output);
      assert.equal(exitCode, 0, output);
    },
  );

  test('has received all requests that the suite has for clients', async () => {
    const names = await clientScenarios();
    const left = names.filter(name => !played.some(([scenario]) => scenario === name));
    assert.deepEqual(left.toSorted(), [...ofHosts, ...ofOtherGrants].toSorted());
  });
});
