import type { Clock } from '#core';

/** Maximum number of reports about one server in `windowMs` milliseconds. */
const maxReports = 100;
const windowMs = 60 * 60_000;

/** `last`: further reports are refused until the end of the window. */
type Admitted = 'yes' | 'last' | 'no';

/**
 * Limits the reports about each server. A server can list other definitions as often as it likes, and its reports must
 * not fill the log, or push older lines out of the audit log.
 */
export function createReportLimit(clock: Pick<Clock, 'monotonic'>) {
  const windows = new Map<string, { readonly since: number; reports: number }>();
  return {
    admit(server: string): Admitted {
      const now = clock.monotonic();
      let window = windows.get(server);
      if (!window || now - window.since >= windowMs)
        windows.set(server, (window = { since: now, reports: 0 }));
      window.reports++;
      if (window.reports > maxReports) return 'no';
      return window.reports === maxReports ? 'last' : 'yes';
    },
    forget: (server: string): void => void windows.delete(server),
  };
}

/** Log message after the last admitted report. */
export const lastReport = `${maxReports} definitions were reported within an hour: further ones of the server are not`;
