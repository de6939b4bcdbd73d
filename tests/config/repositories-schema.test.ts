import { expect, test } from 'vitest';
import { readRepositories, repositoriesSchema } from '../../hub/config/repositories-schema.ts';

test('folders become absolute paths', () => {
  const written = repositoriesSchema.parse(['/srv/projects/', '~/notes']);
  expect(readRepositories(written, '/home/me')).toEqual(['/srv/projects', '/home/me/notes']);
});

test.each([['projects'], ['./x'], ['/srv/../etc'], ['~'], ['~other/x'], ['']])(
  '%j is refused',
  path => {
    expect(repositoriesSchema.safeParse([path]).success).toBe(false);
  },
);
