import type { Changes } from './changes.ts';
import type { InstallForms } from './install-forms.ts';
import type { DashboardNeeds } from './needs.ts';
import type { Answering } from './request.ts';
import type { ServerViews } from './server-views.ts';
import type { UsageViews } from './usage-views.ts';

/** Dependencies of all pages and actions. */
export type Given = DashboardNeeds &
  Answering & {
    readonly changes: Changes;
    readonly usage: UsageViews;
    readonly views: ServerViews;
    /** Undefined if this hub does not change its config file. */
    readonly forms: InstallForms | undefined;
  };
