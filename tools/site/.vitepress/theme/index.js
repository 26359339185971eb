/** The default theme, and the lab in a frame. */
import DefaultTheme from 'vitepress/theme';
import './style.css';
import LabFrame from './LabFrame.vue';

// biome-ignore lint/style/noDefaultExport: VitePress reads it
export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('LabFrame', LabFrame);
  },
};
