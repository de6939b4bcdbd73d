import assert from 'node:assert/strict';
import { test } from 'vitest';
import { parseDocumentationRequest } from '../../hub/documentation/request.ts';

const wanted = { repo_path: '/projects/app', project_name: 'app' };

test('a request has defaults for what it does not name', () => {
  assert.deepEqual(parseDocumentationRequest(wanted), { ...wanted, dry_run: false, force: false });
});

test.each([
  [{}, 'repo_path: is missing: write a string; project_name: is missing: write a string'],
  [{ ...wanted, repo_path: 5 }, 'repo_path: 5 is not allowed: write a string'],
  [{ ...wanted, repo_path: '' }, 'repo_path: must not be empty'],
  [{ ...wanted, model: '' }, 'model: must not be empty'],
  [{ ...wanted, dry_run: 'yes' }, 'dry_run: "yes" is not allowed: write true or false'],
  [
    { ...wanted, repository: '/x' },
    'repository: is not a member; members are repo_path, project_name, vault, dry_run, force, model',
  ],
  [
    { ...wanted, ['x'.repeat(1_000)]: 1 },
    `${'x'.repeat(60)}...: is not a member; members are repo_path, project_name, vault, dry_run, force, model`,
  ],
  [undefined, 'body: is missing: write an object with "repo_path" and "project_name"'],
])('%j is refused with field, value and remedy', (body, message) => {
  assert.throws(() => parseDocumentationRequest(body), { code: 'HUB_REQUEST_INVALID', message });
});
