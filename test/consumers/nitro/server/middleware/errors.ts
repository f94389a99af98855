import { handleErrors } from 'tokenlib/h3'
import { tokens } from '../utils/tokens'

export default handleErrors({ config: tokens.config })
