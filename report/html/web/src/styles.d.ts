// Style sheets are bundled, not values.
declare module "*.css";
