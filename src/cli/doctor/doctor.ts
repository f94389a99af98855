import type { Command } from '../command.js'
import { CommandError, EXIT } from '../exit.js'

/** Reports what is unsafe, unfit or slow. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'check the configuration and the store',
  usage: 'doctor [options]',
  options: {},
  async run() {
    throw new CommandError('doctor is not part of this version', EXIT.usage)
  },
}
