import { HubError } from '#core';
import type { InstallForm } from '#dashboard';
import type { InstallJobs, Installs, Unconfirmed } from '#installs';
import { readInstallBody } from '../routes/install-body.ts';

/** Installs that are started by a form. They continue when the page is closed. */
export interface InstallForms {
  /**
   * Returns the settings to confirm, without starting the install. Rejects with HUB_REQUEST_INVALID; errors in the entry
   * itself are reported by the job.
   */
  review(form: InstallForm): Promise<readonly Unconfirmed[]>;
  /**
   * Starts the install and returns the id of its job. `confirm`: names of the confirmed settings. Throws
   * HUB_REQUEST_INVALID and HUB_INSTALLS_FULL.
   */
  begin(form: InstallForm, confirm: readonly string[], principal: string): string;
}

type Needs = {
  readonly installs: Pick<Installs, 'review'>;
  readonly installJobs: Pick<InstallJobs, 'begin'>;
};

export function createInstallForms({ installs, installJobs }: Needs): InstallForms {
  return {
    async review(form) {
      const wanted = readInstallBody(bodyOf(form));
      try {
        return await installs.review(wanted);
      } catch (error) {
        if (error instanceof HubError && error.code !== 'HUB_REQUEST_INVALID') return [];
        throw error;
      }
    },
    begin: (form, confirm, principal) =>
      installJobs.begin(readInstallBody({ ...bodyOf(form), confirm }), principal),
  };
}

/** Converts the form to the body of `POST /servers/install`. Throws HUB_REQUEST_INVALID. */
function bodyOf(form: InstallForm): object {
  const { package: wanted, name, transport, network, args, env } = form;
  const given = (text: string) => (text.trim() === '' ? undefined : text.trim());
  const entries = linesOf(env).map(line => {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined)
      throw new HubError(
        'HUB_REQUEST_INVALID',
        'env: a line of the environment has no "=": write NAME=value',
      );
    return [key.trim(), value] as const;
  });
  const values = {
    package: given(wanted),
    name: given(name),
    transport: given(transport),
    network: given(network),
    args: args === '' ? undefined : linesOf(args),
    env: entries.length === 0 ? undefined : Object.fromEntries(entries),
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

const linesOf = (text: string): readonly string[] =>
  text.split(/\r?\n/).filter(line => line.trim() !== '');
