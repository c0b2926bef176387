import { helperModule, type Lifecycle } from '../../core/contract/manifest.js';
import { HelperHost } from '../../core/contract/helper-host.js';

/**
 * `helper ctrl modules/srv_helper_ctrl_module.so conf/srv_ctrl.conf;`: the control plane. A process of its own that runs the same core
 * on its own configuration, so that traffic never waits for a call of the API, and goes on when the control plane dies.
 */
@helperModule({ name: 'srv_helper_ctrl_module', api: 1, helper: 'ctrl' })
export class ControlPlane implements Lifecycle {
  constructor(private readonly host: HelperHost) {}

  start(): Promise<void> {
    return this.host.serve();
  }

  stop(): Promise<void> {
    return this.host.close();
  }
}
